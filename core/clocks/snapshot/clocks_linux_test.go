package snapshot

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClocksOfThisMachine reads every clock that the machine has: pairs of each must lie on one line with the system clock.
func TestClocksOfThisMachine(t *testing.T) {
	for _, name := range []string{"monotonic", "MONOTONIC_RAW", "CLOCK_BOOTTIME", "tai", "tsc"} {
		c, err := ClockNamed(name)
		if err != nil {
			if strings.EqualFold(name, "tai") || strings.EqualFold(name, "tsc") {
				t.Logf("%s: %v", name, err)
				continue
			}
			t.Fatal(err)
		}
		first, err := Read(System(), c, DefaultTries)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		second, err := Read(System(), c, DefaultTries)
		if err != nil {
			t.Fatal(err)
		}
		if second.TracerNS <= first.TracerNS || first.WidthNS < 0 {
			t.Errorf("%s: %+v, then %+v", c.Name, first, second)
		}
	}
	if _, err := ClockNamed("sundial"); err == nil {
		t.Error("there is a clock that nobody knows")
	}
}

func TestTAIIsOnlyTakenWhereTheKernelKnowsIt(t *testing.T) {
	_, err := ClockNamed("tai")
	if unknown := knowsTAI(); (err != nil) != (unknown != nil) {
		t.Errorf("got %v, and the kernel says %v", err, unknown)
	}
}

func TestTheKernelSaysHowItsClockIsKept(t *testing.T) {
	d, err := ReadDiscipline()
	if err != nil {
		t.Skip("adjtimex is not allowed here:", err)
	}
	if d.Source != "adjtimex" || d.MaxErrorNS < 0 || d.SysNS < wallStart/2 {
		t.Errorf("got %+v", d)
	}
}

func TestASamplerOfTheSystemStopsWhenItIsTold(t *testing.T) {
	tracer, err := ClockNamed("monotonic")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{System: System(), Tracer: tracer, Timer: NewSystemTimer(), Period: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	for s.Recording().Counters.Taken == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
	if n := s.Recording().Counters.Taken; n != 2 {
		t.Errorf("%d pairs were read, want the first and the last", n)
	}
}

func TestScalingDoesNotOverflow(t *testing.T) {
	for _, c := range []struct{ v, times, by, want int64 }{
		{1 << 62, 1_000_000_000, 2_000_000_000, 1 << 61}, {10, 3, 2, 15}, {1 << 62, 1_000_000_000, 1, 1<<63 - 1}, {0, 5, 7, 0},
	} {
		if got := scaled(c.v, c.times, c.by); got != c.want {
			t.Errorf("%d * %d / %d: got %d, want %d", c.v, c.times, c.by, got, c.want)
		}
	}
}

// BenchmarkBrackets says how wide the brackets of kept pairs are, beside how long a pair takes.
func BenchmarkBrackets(b *testing.B) {
	c, err := ClockNamed("monotonic_raw")
	if err != nil {
		b.Skip(err)
	}
	widths := make([]int64, b.N)
	for i := range widths {
		p, err := Read(System(), c, DefaultTries)
		if err != nil {
			b.Fatal(err)
		}
		widths[i] = p.WidthNS
	}
	slices.Sort(widths)
	b.ReportMetric(float64(widths[len(widths)/2]), "p50-bracket-ns")
	b.ReportMetric(float64(widths[len(widths)*99/100]), "p99-bracket-ns")
}

func BenchmarkPair(b *testing.B) {
	for _, name := range []string{"monotonic", "monotonic_raw", "tsc"} {
		c, err := ClockNamed(name)
		if err != nil {
			b.Skip(err)
		}
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if _, err := Read(System(), c, DefaultTries); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
