// Command regexp prints the tables of Go's package unicode: the categories, their other names, the scripts, and the
// characters that are the same but for their case. Python's own tables are of another Unicode in each of its versions.
//
//	go run -C tools/regexp . > src/setpoint/regexp/unicode.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func main() {
	tables := map[string]any{
		"aliases": unicode.CategoryAliases, "categories": classes(unicode.Categories), "orbits": orbits(),
		"scripts": classes(unicode.Scripts),
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(tables); err != nil {
		panic(err)
	}
}

// classes are the tables by the names that patterns have for them. Go finds no script whose name has an underscore or a
// second capital letter.
func classes(tables map[string]*unicode.RangeTable) map[string]string {
	texts := map[string]string{}
	for name, table := range tables {
		if _, err := regexp.Compile(`\p{` + name + `}`); err == nil {
			texts[name] = ranges(table)
		}
	}
	return texts
}

// ranges are the characters of a table, as "41-5a 61-7a aa".
func ranges(table *unicode.RangeTable) string {
	var words []string
	for first := rune(0); first <= unicode.MaxRune; first++ {
		last := first
		for last <= unicode.MaxRune && unicode.Is(table, last) {
			last++
		}
		switch last - first {
		case 0:
		case 1:
			words = append(words, fmt.Sprintf("%x", first))
		default:
			words = append(words, fmt.Sprintf("%x-%x", first, last-1))
		}
		first = max(first, last-1)
	}
	return strings.Join(words, " ")
}

// orbits are the sets of characters that are equal for (?i).
func orbits() []string {
	var sets []string
	for first := rune(0); first <= unicode.MaxRune; first++ {
		set := []rune{first}
		for other := unicode.SimpleFold(first); other != first; other = unicode.SimpleFold(other) {
			set = append(set, other)
		}
		if len(set) > 1 && first == slices.Min(set) {
			sets = append(sets, string(set))
		}
	}
	return sets
}
