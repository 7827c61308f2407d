package scenarios

import (
	"math"
	"reflect"
	"time"
)

// What is left of a scenario's times must be long beside what real servers,
// processes and a busy machine take for anything.
const (
	shortestTTL       = time.Second
	shortestWait      = 2 * time.Second // locks that poll do so every 50 to 250 ms
	shortestWork      = 50 * time.Millisecond
	shortestDownAfter = 500 * time.Millisecond // a failover takes two to four times as long
)

// Scale returns the time scale nearest to the one that is wanted, which is above 0
// and at most 1, at which the scenario still says what it is meant to say on real
// servers.
func (s *Scenario) Scale(want float64) float64 {
	least := want
	floor := func(d, shortest time.Duration) {
		if d > 0 {
			least = max(least, float64(shortest)/float64(d))
		}
	}
	floor(s.Lock.TTL, shortestTTL)
	floor(s.Lock.RenewingTTL, shortestTTL)
	floor(s.Lock.Wait, shortestWait)
	floor(s.Workload.Work, shortestWork)
	if s.Topology.Redis == Sentinel {
		floor(s.Topology.DownAfter, shortestDownAfter)
	}
	return min(least, 1)
}

// Scaled returns the scenario with every time in it multiplied by scale, those of
// its steps and bounds too. The scenario itself stays as it is.
func (s *Scenario) Scaled(scale float64) *Scenario {
	if scale == 1 {
		return s
	}
	scaled := scaledValue(reflect.ValueOf(*s), scale).Interface().(Scenario)
	scaled.Bounds.Throughput /= scale // it is a number per second
	return &scaled
}

var durationType = reflect.TypeFor[time.Duration]()

// scaledValue copies a value with every duration in it multiplied. What is not
// exported is copied as it is.
func scaledValue(v reflect.Value, scale float64) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch v.Kind() {
	case reflect.Int64:
		if v.Type() == durationType && v.Int() != math.MaxInt64 { // which is for ever
			c.SetInt(int64(math.Round(float64(v.Int()) * scale)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(scaledValue(v.Field(i), scale))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			break
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(scaledValue(v.Index(i), scale))
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, scaledValue(v.MapIndex(key), scale))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			break
		}
		inner := scaledValue(v.Elem(), scale)
		if v.Kind() == reflect.Pointer {
			c.Set(reflect.New(inner.Type()))
			c.Elem().Set(inner)
		} else {
			c.Set(inner)
		}
	default: // has no durations
	}
	return c
}
