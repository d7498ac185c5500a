// Package demo is a scripted model behind the real GitHub Copilot CLI. It has no intelligence: it does what the
// keywords of a prompt say, in the order in which they stand. It serves first steps without an account, and it is
// the model of the end-to-end tests.
//
// It speaks the OpenAI chat-completions protocol on loopback HTTP (GET /v1/models, POST /v1/chat/completions), so
// the CLI takes it as a custom provider. The CLI itself, its tools, its permissions and its events are real.
//
// # The script language
//
// A keyword is a whole word in any case. What stands between backticks is an argument, exactly as written, and
// never a keyword. All other words are prose and mean nothing.
//
//	think [about TOPIC]               stream reasoning
//	markdown                          stream a heading, a list, a table, a code block and a link
//	say `TEXT`                        stream exactly TEXT, a word a chunk
//	5,000 tokens [in 20 s]            stream exactly so many chunks: w1 w2 w3 …
//	wait 5 s                          keep the answer open for so long
//	run `COMMAND`                     call bash
//	write `FILE` `CONTENT`            call create
//	edit `FILE` `OLD` `NEW`           call edit
//	read `FILE`                       call view
//	ask `QUESTION` [choices `A` `B`]  call ask_user
//	call `TOOL` [`{"json": 1}`]       call any tool that is offered
//	plan `A` `B`                      write to-dos with sql, then work on one after another
//	recall                            list the earlier prompts of the conversation
//	show request                      answer with what the model was given, as JSON
//	fail [STATUS]                     answer with an HTTP error, 400 unless given
//	break                             cut the connection in the middle of a message
//
// A prompt without any keyword gets a friendly answer that says what can be done, and so does an unfinished one.
//
// Arguments are quoted as in Markdown: several backticks quote text that holds fewer of them, a fenced block quotes
// lines (the line of the opening fence is not part of them), and two backticks alone are the empty argument.
//
// # Operations
//
// A prompt that carries a document between marks is no script where a tool for a report is offered: the document is
// worked on, and the result is reported. README.md describes the marks, the reports, and what the first line of a
// document may ask for in tests.
//
// # Answers
//
// The server keeps no state. The last prompt of a request is the script, and the tool calls that stand after it
// tell how far the script is. An answer ends at the first tool call that is still to be made. The last answer ends
// with a report of what the tools said, unless its own steps have already given it a text.
package demo
