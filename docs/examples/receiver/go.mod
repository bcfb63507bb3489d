module example.com/receiver

go 1.26.0

require (
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	github.com/verifyd/verifyd v0.0.0
)

replace github.com/verifyd/verifyd => ../../..
