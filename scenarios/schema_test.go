package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"lockpick/faults"
)

// shape is the part of schema.json that the tests read.
type shape struct {
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Defs       map[string]shape `json:"$defs"`
	OneOf      []shape          `json:"oneOf"`
	Enum       []any            `json:"enum"`
}

func readShape(t *testing.T) shape {
	t.Helper()
	data, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s shape
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// compare checks that the schema has the loader's fields, and wants the same.
func compare[T any](t *testing.T, what string, s shape, fields []field[T]) {
	t.Helper()
	got, want := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(slices.Values(names(fields)))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the schema has the fields %q, the loader %q", what, got, want)
	}
	var must []string
	for _, f := range fields {
		if f.required {
			must = append(must, f.name)
		}
	}
	if got := s.Required; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(must))) {
		t.Errorf("%s: the schema requires %q, the loader %q", what, got, must)
	}
}

func TestSchemaHasTheFieldsOfTheLoader(t *testing.T) {
	s := readShape(t)
	compare(t, "scenario", s, scenarioFields)
	compare(t, "text", s.Defs["text"], textFields)
	compare(t, "document", s.Defs["document"], sourceFields)
	compare(t, "topology", s.Defs["topology"], topologyFields)
	compare(t, "lock", s.Defs["lock"], lockFields)
	compare(t, "workload", s.Defs["workload"], workloadFields)
	compare(t, "slow-work", s.Defs["slow-work"], slowWorkFields)
	compare(t, "bounds", s.Defs["bounds"], boundsFields)
	compare(t, "when", s.Defs["when"], whenFields)
	compare(t, "command", s.Defs["command"], wireFields)
	compare(t, "expectation", s.Defs["expectation"], expectationFields)
	steps := 0
	for def := range s.Defs {
		if strings.HasPrefix(def, "step-") {
			steps++
		}
	}
	if steps != len(kinds) {
		t.Errorf("the schema has %d faults, the loader %d", steps, len(kinds))
	}
	for _, k := range kinds {
		step := s.Defs["step-"+k.word]
		if k.word == "drop" { // it needs when, which the loader says with its own reason
			step.Required = slices.DeleteFunc(step.Required, func(f string) bool { return f == "when" })
		}
		compare(t, "step-"+k.word, step, k.fields)
	}
}

func TestSchemaHasTheWordsOfTheLoader(t *testing.T) {
	s := readShape(t)
	directions := words([]faults.Direction{faults.Both, faults.ToNode, faults.ToClient})
	tests := []struct {
		name string
		got  []any
		want []any
	}{
		{"redis", s.Defs["topology"].Properties["redis"].Enum, words(redises)},
		{"resource", s.Defs["workload"].Properties["resource"].Enum, words(resources)},
		{"fences", s.Defs["workload"].Properties["fences"].Enum, words([]string{Checked, Ignored})},
		{"with", s.Defs["step-refuse"].Properties["with"].Enum, words(faults.Refusals())},
		{"the event", s.Defs["happening"].OneOf[0].Enum, words(faults.Events())},
		{"during", s.Defs["command"].Properties["during"].Enum, words(faults.Phases())},
		{"point", s.Defs["command"].Properties["point"].Enum, words(faults.Points())},
		{"direction of cut", s.Defs["step-cut"].Properties["direction"].Enum, directions},
		{"direction of hold", s.Defs["step-hold"].Properties["direction"].Enum, directions},
		{"direction of slow", s.Defs["step-slow"].Properties["direction"].Enum, directions},
		{"drop", s.Defs["step-drop"].Properties["drop"].Enum, words([]faults.Message{faults.Request, faults.Reply})},
	}
	for _, tt := range tests {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: the schema has %v, the loader %v", tt.name, tt.got, tt.want)
		}
	}
}

func words[W ~string](list []W) []any {
	var out []any
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

func TestLoaderHasEveryFault(t *testing.T) {
	for i, e := range faults.Catalog() {
		if i >= len(kinds) || kinds[i].word != e.Name {
			t.Errorf("fault %d is %q in faults.Catalog and not in the loader", i, e.Name)
			continue
		}
		d := &draft{scenario: &Scenario{}}
		if got := kinds[i].build(d).Name(); got != e.Name {
			t.Errorf("a step of %q makes a fault %q", e.Name, got)
		}
	}
}

// TestSchemaAgrees checks that schema.json takes what the loader takes and
// refuses what it refuses, but for what is said to be beyond it.
func TestSchemaAgrees(t *testing.T) {
	schema := compileSchema(t)
	for _, e := range schemaCorpus(t) {
		value, err := jsonValue([]byte(e.text))
		if err != nil {
			if e.want != "" && e.want != notYAML {
				t.Errorf("%s: no value for the schema: %v", e.name, err)
			}
			continue
		}
		switch err := schema.Validate(value); {
		case e.want == "" && err == nil:
			t.Errorf("%s: the schema takes what the loader refuses", e.name)
		case e.want == beyondSchema && err != nil:
			t.Errorf("%s: the schema refuses it: %v", e.name, err)
		case e.want == notYAML:
			t.Errorf("%s: is YAML after all", e.name)
		}
	}
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// corpusEntry is a text and what the schema says to it: "" when it refuses it,
// beyondSchema when it takes it.
type corpusEntry struct{ name, text, want string }

func schemaCorpus(t *testing.T) []corpusEntry {
	t.Helper()
	var list []corpusEntry
	for _, pattern := range []string{"catalog/*.yaml", "testdata/valid/*.yaml"} {
		for _, file := range glob(t, pattern) {
			list = append(list, corpusEntry{file, read(t, file), beyondSchema})
		}
	}
	for _, file := range glob(t, "testdata/invalid/*.yaml") {
		e := corpusEntry{name: file, text: read(t, file)}
		if strings.HasPrefix(e.text, "# beyond the schema") {
			e.want = beyondSchema
		}
		list = append(list, e)
	}
	for _, file := range glob(t, "testdata/mistakes/*.txt") {
		_, mistakes := readMistakes(t, file)
		for _, m := range mistakes {
			e := corpusEntry{name: file + ": " + m.claim, text: m.apply(t)}
			for _, mark := range []string{beyondSchema, notYAML} {
				if strings.HasPrefix(m.claim, mark) {
					e.want = mark
				}
			}
			list = append(list, e)
		}
	}
	return list
}

// jsonValue makes of YAML what an editor's validator sees.
func jsonValue(text []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(stringKeys(v))
	if err != nil {
		return fmt.Sprint(v), nil // such as an infinity, which JSON has not
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

func stringKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = stringKeys(v[k])
		}
	case map[any]any:
		out := map[string]any{}
		for k, x := range v {
			out[fmt.Sprint(k)] = stringKeys(x)
		}
		return out
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	}
	return v
}

// TestReadmeHasTheFieldsOfTheLoader checks that the README names every field and
// every word.
func TestReadmeHasTheFieldsOfTheLoader(t *testing.T) {
	readme := read(t, "README.md")
	var want []string
	under := func(parent string, fields []string) {
		for _, f := range fields {
			want = append(want, "`"+parent+f+"`")
		}
	}
	under("", slices.DeleteFunc(names(scenarioFields), func(f string) bool {
		return slices.Contains([]string{"topology", "lock", "workload", "bounds", "title", "lesson"}, f) // by their fields, or together
	}))
	under("topology.", names(topologyFields))
	under("lock.", names(lockFields))
	under("workload.", names(workloadFields))
	under("bounds.", names(boundsFields))
	under("", names(whenFields))
	under("", names(wireFields))
	for _, w := range slices.Concat(words(redises), words(resources), words(faults.Refusals()), words([]string{Checked, Ignored}),
		words(faults.Events()), words(faults.Phases()), words(faults.Points())) {
		want = append(want, fmt.Sprintf("`%v`", w))
	}
	for _, k := range kinds {
		line := lineWith(readme, "| `"+k.word+": ")
		if line == "" {
			t.Errorf("the README has no row of %s", k.word)
		}
		for _, f := range names(k.fields) {
			if f != k.word && f != "at" && f != "when" && !strings.Contains(line, "`"+f+"`") {
				t.Errorf("the README has no field %s in the row of %s", f, k.word)
			}
		}
	}
	for _, w := range want {
		if !strings.Contains(readme, w) {
			t.Errorf("the README has no %s", w)
		}
	}
}

// lineWith returns the first line that starts with prefix.
func lineWith(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}
