// Package demo is a scripted model behind the real GitHub Copilot CLI. It has no intelligence: it follows the keywords
// of a prompt, in their order, and answers all else with canned texts. It serves first steps without an account, and
// the end-to-end tests. README.md describes it for users.
//
// It speaks the OpenAI chat-completions protocol on loopback HTTP (GET /v1/models, POST /v1/chat/completions), so
// the CLI takes it as a custom provider. The CLI itself, its tools, its permissions and its events are real.
//
// # The script language
//
// A keyword is a whole word in any case. An argument stands between backticks, exactly as written, and is never a
// keyword. All other words are prose and mean nothing.
//
//	think [about TOPIC]               stream reasoning
//	markdown                          stream a heading, a list, a table, a code block and a link
//	say `TEXT`                        stream exactly TEXT, one word per chunk
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
//	fail [STATUS]                     answer with an HTTP error, 400 by default
//	break                             cut the connection in the middle of a message
//
// # Answers
//
// The server keeps no state. The last prompt of a request is the script, and the tool calls after it tell how far the
// script is. An answer ends at the first tool call that is still to be made. The last answer quotes the results of the
// tools, unless the script has streamed a text of its own.
package demo
