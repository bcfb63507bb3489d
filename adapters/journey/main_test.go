// The browser that the tests of the pages share.

package journey_test

import (
	"os"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Tests{M: m}.Run()) }
