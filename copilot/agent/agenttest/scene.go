package agenttest

import "time"

// Scene is an action of the model. The set of types is closed: all of them are in this file.
//
// The scenes of a prompt are played in order. A scene that calls a tool ends a response of the model; the
// next response starts with the following scene. If there is none, the model repeats the result of the last
// tool.
type Scene interface{ scene() }

type (
	// Say streams exactly this text.
	Say struct{ Text string }
	// Think streams a thought.
	Think struct{}
	// Stream streams a number of chunks of text, evenly over some time.
	Stream struct {
		Chunks int
		Over   time.Duration
	}
	// Wait starts a response with a thought and is then silent for that time.
	Wait struct{ For time.Duration }
	// Shell makes the agent run a command, which needs permission.
	Shell struct{ Command string }
	// Ask asks the user.
	Ask struct {
		Question string
		Choices  []string
	}
	// Call calls a client tool by its declared name. If it is not offered, the model does not call it and may
	// say so.
	Call struct {
		Tool      string
		Arguments string // a JSON object
	}
	// Plan replaces the to-dos by these and completes them one after another.
	Plan struct{ Todos []string }
	// Propose asks the user to approve a plan, if the mode allows it.
	Propose struct{ Plan string }
	// Fail is a permanent error of the model's vendor.
	Fail struct{}
	// Recall repeats the earlier prompts of the conversation.
	Recall struct{}
	// Show repeats the prompt as the model received it, including additions of the agent.
	Show struct{}
	// Delegate makes a sub-agent say a text, and waits for it.
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
