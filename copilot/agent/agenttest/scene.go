package agenttest

import "time"

// Scene is something that the model is to do. The set of types is closed: they
// all stand in this file.
//
// The scenes of a prompt are done in their order. One that calls a tool ends an
// answer of the model; the next answer begins with the scene behind it. When
// there is none, the model says what the last tool told it, whatever that was.
type Scene interface{ scene() }

type (
	// Say streams exactly this text.
	Say struct{ Text string }
	// Think streams a thought.
	Think struct{}
	// Stream streams so many chunks of text, evenly over some time.
	Stream struct {
		Chunks int
		Over   time.Duration
	}
	// Wait begins an answer with a thought and says nothing more for so long.
	Wait struct{ For time.Duration }
	// Shell has the agent run a command, for which it asks permission.
	Shell struct{ Command string }
	// Ask asks the user.
	Ask struct {
		Question string
		Choices  []string
	}
	// Call calls a tool of a client, by its name as declared. One that is not
	// offered is not called; the model says that, or nothing.
	Call struct {
		Tool      string
		Arguments string // a JSON object
	}
	// Plan makes these to-dos, in place of earlier ones, and does them one after another.
	Plan struct{ Todos []string }
	// Propose puts a plan to the user for approval, if the mode allows it.
	Propose struct{ Plan string }
	// Fail is an error of the model's vendor that trying again does not mend.
	Fail struct{}
	// Recall says the earlier prompts of the conversation.
	Recall struct{}
	// Show says the prompt as it has reached the model, with what the agent adds.
	Show struct{}
	// Delegate lets a sub-agent say a text, and waits for it.
	Delegate struct{ Text string }
)

func (Say) scene()      {}
func (Think) scene()    {}
func (Stream) scene()   {}
func (Wait) scene()     {}
func (Shell) scene()    {}
func (Ask) scene()      {}
func (Call) scene()     {}
func (Plan) scene()     {}
func (Propose) scene()  {}
func (Fail) scene()     {}
func (Recall) scene()   {}
func (Show) scene()     {}
func (Delegate) scene() {}
