package reference

import (
	"fmt"
	"go/ast"
	doc "go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"lockpick/scenarios"
)

// comment is that of a version's package.
type comment struct {
	dir  string // from the module's root
	text string
}

const versionsRoot = "impls"

// packageComments finds the package of every version: the directory of that
// name, or else the one whose code has the name as a string.
func packageComments(root fs.FS, versions []string) (map[string]comment, error) {
	dirs, err := fs.Glob(root, versionsRoot+"/*")
	if err != nil {
		return nil, err
	}
	packages := map[string]comment{}
	for _, dir := range dirs {
		if base := path.Base(dir); base == "catalog" || base == "internal" || base == "broken" {
			continue
		}
		text, names, err := readPackage(root, dir)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			here := v == path.Base(dir)
			if !here && !slices.Contains(names, v) {
				continue
			}
			earlier, twice := packages[v]
			switch {
			case twice && path.Base(earlier.dir) == v:
			case twice && !here:
				return nil, fmt.Errorf("version %s is in %s and in %s", v, earlier.dir, dir)
			default:
				packages[v] = comment{dir, text}
			}
		}
	}
	for _, v := range versions {
		if c, ok := packages[v]; !ok || c.text == "" {
			return nil, fmt.Errorf("version %s has no package with a comment below %s", v, versionsRoot)
		}
	}
	return packages, nil
}

// readPackage returns a package's comment and the strings in its code.
func readPackage(root fs.FS, dir string) (text string, literals []string, err error) {
	files, err := fs.Glob(root, dir+"/*.go")
	if err != nil {
		return "", nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return "", nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			return "", nil, err
		}
		if f.Doc != nil {
			text = f.Doc.Text()
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok && isName(pair.Key, "VariantOf") {
				return false // it names the version of another package
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					literals = append(literals, s)
				}
			}
			return true
		})
	}
	return text, literals, nil
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// markdown renders a package's comment for the page of a version. Its first
// words, "Package" and its name, become the name of the version, or that of the
// directory when the package has several versions.
func (c comment) markdown(version string) string {
	subject, rest := code(version), c.text
	if path.Base(c.dir) != version {
		subject = "Package " + code(c.dir)
	}
	if words := strings.SplitN(c.text, " ", 3); len(words) == 3 && words[0] == "Package" {
		rest = words[2]
	}
	const mark = "SUBJECT" // which the printer leaves as it is, unlike a code span
	var p doc.Parser
	pr := doc.Printer{HeadingLevel: 3, HeadingID: func(*doc.Heading) string { return "" }}
	return strings.Replace(string(pr.Markdown(p.Parse(mark+" "+rest))), mark, subject, 1)
}

// remarks returns the comments at the heads of the scenarios' files, which say
// what the fields cannot.
func remarks(root fs.FS, all []*scenarios.Scenario) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range all {
		text, err := fs.ReadFile(root, s.File)
		if err != nil {
			return nil, err
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			line, ok := strings.CutPrefix(line, "#")
			if !ok {
				break
			}
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "yaml-language-server:") {
				lines = append(lines, line)
			}
		}
		out[s.Name] = strings.Join(lines, "\n")
	}
	return out, nil
}

// other is a page of docs that somebody wrote.
type other struct{ file, title string }

// otherPages lists the pages of docs that are not of the reference.
func otherPages(root fs.FS) ([]other, error) {
	files, err := fs.Glob(root, "docs/*.md")
	if err != nil {
		return nil, err
	}
	var list []other
	for _, name := range files {
		base := path.Base(name)
		if base == contentsPage || base == checksPage || base == faultsPage {
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		title := base
		for line := range strings.Lines(string(text)) {
			if head, ok := strings.CutPrefix(line, "# "); ok {
				title = strings.TrimSpace(head)
				break
			}
		}
		list = append(list, other{base, title})
	}
	return list, nil
}
