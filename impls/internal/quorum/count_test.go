package quorum

import (
	"errors"
	"fmt"
	"testing"

	"lockpick/impls"
)

func TestMajority(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 8: 5, 9: 5} {
		t.Run(fmt.Sprintf("of %d nodes", n), func(t *testing.T) {
			got := Majority(n)
			if got != want {
				t.Errorf("Majority(%d) = %d, want %d", n, got, want)
			}
			if 2*got <= n {
				t.Errorf("two majorities of %d need not share a node", n)
			}
			if 2*(got-1) > n {
				t.Errorf("%d of %d would do", got-1, n)
			}
		})
	}
}

var errLost = errors.New("lost")

// said reads answers: y yes, n no, - none in time, x not asked.
func said(word string) []Answer[bool] {
	var answers []Answer[bool]
	for _, c := range word {
		answers = append(answers, map[rune]Answer[bool]{
			'y': {Value: true}, 'n': {}, '-': {Err: errLost}, 'x': {Err: ErrNotAsked},
		}[c])
	}
	return answers
}

// known says what an error leaves open.
func known(err, no error) string {
	switch {
	case err == nil:
		return "yes"
	case errors.Is(err, no):
		return "no"
	default:
		return "unknown"
	}
}

func TestHeld(t *testing.T) {
	tests := []struct{ name, said, want string }{
		{"all", "yyyyy", "yes"},
		{"a bare majority", "yyynn", "yes"},
		{"a majority, the others silent", "yyy--", "yes"},
		{"nobody", "nnnnn", "no"},
		{"a minority", "yynnn", "no"},
		{"a minority, and too few silent to matter", "ynnn-", "no"},
		{"the silent one decides", "yynn-", "unknown"},
		{"all silent", "-----", "unknown"},
		{"half of four is none", "yynn", "no"},
		{"one node", "y", "yes"},
		{"one node that is silent", "-", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Held(said(tt.said))
			if got := known(err, impls.ErrNotHeld); got != tt.want {
				t.Errorf("Held(%s) = %v, which is %s, want %s", tt.said, err, got, tt.want)
			}
			if tt.want == "unknown" && !errors.Is(err, errLost) {
				t.Errorf("Held(%s) = %v, want the node's error in it", tt.said, err)
			}
		})
	}
}

func TestNotGranted(t *testing.T) {
	tests := []struct{ name, votes, deleted, want string }{
		{"refused everywhere", "nnnnn", "nnnnn", "no"},
		{"refused everywhere, and the deletes are lost", "nnnnn", "-----", "no"},
		{"granted everywhere too late, and deleted", "yyyyy", "yyyyy", "no"},
		{"granted everywhere too late, and gone by itself", "yyyyy", "nnnnn", "no"},
		{"granted everywhere too late, and the deletes are lost", "yyyyy", "-----", "unknown"},
		{"two may be left", "yynnn", "--nnn", "no"},
		{"silent, and what was there is deleted", "---nn", "yyynn", "no"},
		{"silent, and nothing there yet", "---nn", "nnnnn", "unknown"},
		{"silent to both", "---nn", "---nn", "unknown"},
		{"two silent to both", "--nnn", "--nnn", "no"},
		{"not asked", "xxxnn", "xxxnn", "no"},
		{"not asked, or silent to both", "xx--n", "xx--n", "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := NotGranted(said(tt.votes), said(tt.deleted))
			if got := known(err, impls.ErrNotAcquired); got != tt.want {
				t.Errorf("NotGranted(%s, %s) = %v, which is %s, want %s", tt.votes, tt.deleted, err, got, tt.want)
			}
		})
	}
}
