// The bootstrap file and the names of its workflows.

package scenario

import (
	"embed"
	"io/fs"
)

//go:embed testdata
var files embed.FS

// APIKey is the key of every account of the bootstrap file.
const APIKey = "a-key-of-at-least-twenty-characters"

// Bootstrap returns the bootstrap file that a host applies before a conversation.
func Bootstrap() ([]byte, error) { return files.ReadFile("testdata/bootstrap.yaml") }

// Conversations returns the conversations of this package.
func Conversations() (fs.FS, error) { return fs.Sub(files, "testdata") }

// List returns the list that the screening of a host searches under the name fictional.
func List() ([]byte, error) { return files.ReadFile("testdata/fictional.csv") }

// Names returns the names that conversations use for the workflows and the tenant of
// the bootstrap file.
func Names() map[string]string {
	const id = "0191f3c0-0000-7000-8000-0000000000"
	return map[string]string{
		"acme":       id + "aa",
		"onboarding": id + "01", "records": id + "02", "reviewed": id + "03", "located": id + "04", "twice": id + "05",
		"lenient": id + "06", "draft": id + "07", "hooked": id + "08", "broken": id + "09", "strict": id + "0a", "late": id + "0b", "four_eyes": id + "0c",
		"owners": id + "0d", "screened": id + "0e", "typed": id + "0f", "echoed": id + "10", "sent": id + "11", "sent_echoed": id + "12", "compared": id + "13", "asked": id + "14",
		"foreign": id + "f1", "retired": id + "f2", "papers": id + "f3", "due": id + "f4", "partners": id + "f5", "skipped": id + "f6",
	}
}
