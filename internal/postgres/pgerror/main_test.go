package pgerror_test

import (
	"os"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m, nil)) }
