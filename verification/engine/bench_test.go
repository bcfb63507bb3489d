// The cost of a run.

package engine_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// BenchmarkFiveChecks is a whole run in memory: start, five immediate checks with
// data, completed.
func BenchmarkFiveChecks(b *testing.B) {
	store, system := memory.New(), clock.System{}
	e, err := engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"script": instant{verification.Data(checkData).Map()}},
		Expressions: noCompiler{}, Links: enginetest.Links(), Clock: system, NewID: enginetest.SeededIDs(1),
	}, engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	applied, err := e.Apply(b.Context(), enginetest.Tenant, chain("a", "b", "c", "d", "e"))
	if err != nil {
		b.Fatal(err)
	}
	wait := time.Minute
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		v, err := e.Start(b.Context(), enginetest.Tenant, applied.Workflow.ID,
			engine.StartRequest{ReferenceID: "person-1", Wait: &wait})
		if err != nil || v.Status != rules.StatusCompleted {
			b.Fatalf("run = %+v, %v", v, err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkFiveTogether is a run whose group of five members is called together, beside a run of one check: each call takes
// 200 ms. x-of-one is the time of the first as a multiple of the second.
func BenchmarkFiveTogether(b *testing.B) {
	e, err := engine.New(engine.Ports{
		Store: memory.New(), Providers: map[string]verification.Provider{"script": slow{200 * time.Millisecond}},
		Expressions: noCompiler{}, Links: enginetest.Links(), Clock: clock.System{}, NewID: enginetest.SeededIDs(1),
	}, engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	timed := func(d workflow.Definition) (took time.Duration) {
		applied, err := e.Apply(b.Context(), enginetest.Tenant, d)
		if err != nil {
			b.Fatal(err)
		}
		wait, began := time.Minute, time.Now()
		v, err := e.Start(b.Context(), enginetest.Tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "person-1", Wait: &wait})
		if err != nil || v.Status != rules.StatusCompleted {
			b.Fatalf("run = %+v, %v", v, err)
		}
		return time.Since(began)
	}
	var one, five time.Duration
	for b.Loop() {
		one += timed(chain("a"))
		five += timed(grouped(asItIs, "a", "b", "c", "d", "e"))
	}
	b.ReportMetric(five.Seconds()/one.Seconds(), "x-of-one")
	b.ReportMetric(float64(five-one)/float64(b.N)/float64(time.Millisecond), "ms-more")
}

// cpuTime returns the processor time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// checkData is the data of a check: 300 bytes.
const checkData = `{"aadhaar_linked":true,"address":{"city":"Bengaluru","line":"14 Lake View Road","postcode":"560001"},` +
	`"category":"individual","date_of_birth":"1990-01-31","name":"Asha Rao","name_match":0.97,"pan":"ABCDE1234F",` +
	`"reference":"7f3c-9a52","source_ok":true,"sources":["registry","bureau"],"status":"active"}`

// instant passes every check immediately.
type instant struct{ data map[string]any }

func (p instant) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: p.data}, nil
}

// slow passes every check after some time.
type slow struct{ after time.Duration }

func (p slow) Check(ctx context.Context, _ verification.CheckRequest) (verification.CheckResult, error) {
	select {
	case <-ctx.Done():
		return verification.CheckResult{}, ctx.Err()
	case <-time.After(p.after):
		return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
	}
}

// noCompiler is enough for workflows without texts to compile.
type noCompiler struct {
	workflow.ExpressionCompiler
}
