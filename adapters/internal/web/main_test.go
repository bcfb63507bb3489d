// The browser that the tests of the design share.

package web_test

import (
	"os"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Tests{M: m}.Run()) }
