// The benchmark of a large list.

package screening_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

// population makes names: few are common and most are rare.
type population struct {
	r             *rand.Rand
	given, family []string
	zipfGiven     *rand.Zipf
	zipfFamily    *rand.Zipf
}

func newPopulation(seed uint64) *population {
	p := &population{r: rand.New(rand.NewPCG(seed, 7))}
	known := strings.Fields("Mohammed Ali Ahmed Maria Ivan Wei Kumar Fatima John Hassan Singh Olga Chen Kim Nguyen Alexander Natalia Omar Li David")
	p.given = append(p.given, known...)
	p.family = append(p.family, strings.Fields("Khan Smith Ivanov Wang Garcia Hussein Patel Kim Petrov Nguyen Silva Ahmed Sharma Müller Al-Harbi Tanaka Okafor Kaya Novak Hansen")...)
	syllables := strings.Fields("ba be bo da de di do fa fi ga go ha he ja jo ka ke ki ko la le li lo ma me mi mo na ne ni no pa pe ra re ri ro sa se si so ta te ti to va ve vi wa ya yo za ze shi cha khu gri bran stel mor din han ver lund berg sen")
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(syllables[p.r.IntN(len(syllables))])
		}
		s := b.String()
		return strings.ToUpper(s[:1]) + s[1:]
	}
	for len(p.given) < 20_000 {
		p.given = append(p.given, word(2+p.r.IntN(2)))
	}
	for len(p.family) < 200_000 {
		p.family = append(p.family, word(2+p.r.IntN(3)))
	}
	p.zipfGiven = rand.NewZipf(p.r, 1.1, 8, uint64(len(p.given)-1))
	p.zipfFamily = rand.NewZipf(p.r, 1.05, 30, uint64(len(p.family)-1))
	return p
}

func (p *population) person() string {
	name := p.given[p.zipfGiven.Uint64()] + " "
	if p.r.IntN(3) == 0 {
		name += p.given[p.zipfGiven.Uint64()] + " "
	}
	return name + p.family[p.zipfFamily.Uint64()]
}

func (p *population) company() string {
	words := []string{"Trading", "Shipping", "Technologies", "Holding", "Construction", "Energy", "International"}
	return p.family[p.zipfFamily.Uint64()] + " " + words[p.r.IntN(len(words))] + " " + []string{"Ltd", "LLC", "GmbH", "SA"}[p.r.IntN(4)]
}

// write writes a list of n entries with some 1.4 names each.
func (p *population) write(w io.Writer, n int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "id,schema,name,aliases,birth_date,countries")
	for i := range n {
		if i%4 == 3 {
			fmt.Fprintf(out, "c-%d,Company,%s,,,cy\n", i, p.company())
			continue
		}
		aliases := ""
		if p.r.IntN(2) == 0 {
			aliases = p.person()
		}
		fmt.Fprintf(out, "p-%d,Person,%s,%s,%d-05-17,ru;by\n", i, p.person(), aliases, 1940+i%60)
	}
	return out.Flush()
}

// busy returns the processor time of this process, which does not depend on what else
// the machine does.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAMillionEntries measures loading a list and searching it: processor time,
// with that of the garbage collector. GOMAXPROCS=1 keeps it on one core.
func BenchmarkAMillionEntries(b *testing.B) {
	const entries = 1_000_000
	c := names.New()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	read, write := io.Pipe()
	p := newPopulation(1)
	go func() { _ = write.CloseWithError(p.write(write, entries)) }()
	began := busy()
	l, err := screening.Read(b.Context(), read, screening.Format{Type: screening.OpenSanctions}, c)
	if err != nil {
		b.Fatal(err)
	}
	load := busy() - began
	size := heap() - before
	queries := newPopulation(2)
	subjects := make([]screening.Subject, 0, 1000)
	for i := range cap(subjects) {
		s := screening.Subject{Kind: names.Person, Name: queries.person()}
		switch {
		case i%5 == 4:
			s = screening.Subject{Kind: names.Company, Name: queries.company()}
		case i%50 == 0:
			s.Name = "Mohammed Ali Khan"
		}
		subjects = append(subjects, s)
	}
	var took []time.Duration
	hits := 0
	for b.Loop() {
		s := subjects[len(took)%len(subjects)]
		began := busy()
		found, err := l.Search(s, 0.85)
		took = append(took, busy()-began)
		if err != nil {
			b.Fatal(err)
		}
		hits += len(found)
	}
	slices.Sort(took)
	b.ReportMetric(load.Seconds(), "load-s")
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(hits)/float64(len(took)), "hits/query")
	runtime.KeepAlive(l)
}
