// Package tap learns what a real Redis server did from its MONITOR: a Monitor
// reads the lines, and a Shadow executes them again in lockpick's own engine and
// records what has become of the keys, as the simulator does for its nodes.
//
// It knows neither whose connection is whose nor what a lock is, and it never
// sees a reply of the server: a Shadow says what a server in that state answers.
//
// What redis-server 7.0 prints, measured with 7.0.15:
//
//   - A command is printed after it was executed, with the time at which it is
//     printed, about 1 µs after it has looked at the clock for the end of a key.
//     In about one of a thousand the clock goes on by a millisecond in between:
//     then the key of the Shadow ends 1 ms after that of the server, and what
//     comes in that very millisecond finds another key. Nothing in the lines tells.
//   - A script's line is printed before it runs, by 10 µs to 100 µs, and each of its
//     calls as a line from "lua", with the database that the script has selected,
//     before whatever comes next. To a script, and to a transaction, no key ends
//     while it runs.
//   - Commands of a transaction are printed when EXEC executes them, without a
//     line of another client in between, and then EXEC. EXEC alone is printed
//     when a watched key was touched, when a command was refused while it queued,
//     when nothing was queued, and when there was no MULTI. MULTI, WATCH and
//     DISCARD are printed when they come, even where they are errors.
//   - SELECT is printed with the database that it has selected.
//   - A command that fails when it is executed is printed like any other. One that
//     is refused before (unknown, wrong arity, READONLY, OOM) is not,
//     nor are CONFIG, DEBUG, SAVE and CLIENT KILL. AUTH and HELLO are, with
//     "(redacted)" in place of passwords.
//   - A command that waits, such as BLPOP, is printed when it comes, and not again
//     when it gets something. That a key has expired or was evicted is never
//     printed by a primary; its replicas print the DEL that it sends them, and what
//     scripts and transactions did as commands between MULTI and EXEC.
//
// A script is followed by the lines of its calls and not by running it again: they
// have the very values that it wrote, also what it made of TIME, and each has its
// own time, and a script that was loaded before the tap began has nothing else. It
// is run as well, on a copy of the keys and at the time of its own line, for its
// reply: a time to live in that may be 1 ms too long.
//
// The rule that surprises: Redis lets a key live through the millisecond of its
// end. So does a Shadow; it records the end itself as the time at which the key
// expired, or the last line that it has heard when that is later.
package tap
