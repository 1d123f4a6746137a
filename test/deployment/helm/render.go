// Renders a chart as Helm does, for charts that keep to text/template, Sprig and the functions below (Debian has no Helm).
// Reads {"chart": folder, "cases": [{"values": …, "release": …}]}, writes [{"files": {name: text}} or {"error": text}].
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/ghodss/yaml"
)

type anyMap = map[string]interface{}

type input struct {
	Chart string
	Cases []struct{ Values, Release anyMap }
}

type output struct {
	Files map[string]string `json:"files,omitempty"`
	Error string            `json:"error,omitempty"`
}

// files is what a template knows as .Files.
type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func (f files) Glob(pattern string) map[string][]byte {
	found := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(f.folder, pattern))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			short, _ := filepath.Rel(f.folder, name)
			found[short] = text
		}
	}
	return found
}

func parse(folder string) (*template.Template, []string) {
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		check(err)
		return strings.TrimSuffix(string(text), "\n")
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	all.Funcs(functions)
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	check(err)
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		check(err)
		template.Must(all.New(name).Parse(string(text)))
		if !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return all, names
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	chart := anyMap{}
	text, err := os.ReadFile(filepath.Join(in.Chart, "Chart.yaml"))
	check(err)
	check(yaml.Unmarshal(text, &chart))
	// Helm gives templates the fields with capital letters.
	for _, name := range []string{"name", "version", "appVersion", "description"} {
		chart[strings.ToUpper(name[:1])+name[1:]] = chart[name]
	}
	all, names := parse(in.Chart)
	results := []output{}
	for _, each := range in.Cases {
		result := output{Files: map[string]string{}}
		data := anyMap{"Values": each.Values, "Release": each.Release, "Chart": chart, "Files": files{in.Chart}}
		for _, name := range names {
			var text bytes.Buffer
			if err := all.ExecuteTemplate(&text, name, data); err != nil {
				result = output{Error: err.Error()}
				break
			}
			result.Files[name] = text.String()
		}
		results = append(results, result)
	}
	check(json.NewEncoder(os.Stdout).Encode(results))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
