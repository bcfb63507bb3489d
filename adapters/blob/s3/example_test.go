package s3_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/verification"
)

func ExampleNew() {
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	defer server.Close()

	store, err := s3.New(s3.Options{
		Endpoint:  strings.TrimPrefix(server.URL, "http://"),
		Bucket:    "uploads",
		Prefix:    "verifyd",
		Region:    "us-east-1",
		AccessKey: "access", SecretKey: "secret",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := verification.RunRef{Tenant: "a0000000-0000-7000-8000-000000000001", Run: "d0000000-0000-7000-8000-000000000001"}
	d := verification.Document{ID: "e0000000-0000-7000-8000-000000000001", Field: "statement", MediaType: "application/pdf"}
	d, err = store.SaveDocument(context.Background(), run, d, strings.NewReader("%PDF-1.4\n%%EOF\n"))
	fmt.Println(d.MediaType, d.Size, err)
	// Output: application/pdf 15 <nil>
}
