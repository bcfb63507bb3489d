module example.com/receiver

go 1.26.0

require (
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	github.com/verifyd/verifyd v0.0.0
)

require golang.org/x/text v0.43.0 // indirect

replace github.com/verifyd/verifyd => ../../..
