package acp

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// The ids of the options, which are also their categories.
const (
	optionModel = "model"
	optionMode  = "mode"
)

// attributeMode is the attribute of a session with the mode of its next prompt.
const attributeMode = "acp.mode"

func modes() []acp.Mode {
	return []acp.Mode{
		{ID: string(event.ModeInteractive), Name: "Agent", Description: "Works step by step, and asks before it acts"},
		{ID: string(event.ModePlan), Name: "Plan", Description: "Makes a plan first and asks for approval"},
		{ID: string(event.ModeAutopilot), Name: "Autopilot", Description: "Continues until the task is done"},
	}
}

// mode returns the mode of the next prompt.
func (a *attachment) mode() event.Mode {
	if chosen := a.chosen.Load(); chosen != nil {
		return *chosen
	}
	return cmp.Or(event.Mode(a.session().Attribute(attributeMode)), event.ModeInteractive)
}

// settings are the current ones. Without models (the agent cannot list them), the option is missing.
func (a *attachment) settings(model string) settings {
	current := string(a.mode())
	values := wire.List(modes(), func(m acp.Mode) configValue { return configValue{m.ID, m.Name, m.Description} })
	now := settings{Modes: acp.ModeState{Current: current, Available: modes()}, Options: []configOption{
		{Type: "select", ID: optionMode, Name: "Mode", Category: optionMode, Current: current, Options: values},
	}}
	if len(a.models) > 0 {
		now.Options = append(now.Options, configOption{Type: "select", ID: optionModel, Name: "Model", Category: optionModel, Current: model, Options: modelValues(a.models, model)})
	}
	return now
}

// modelValues always has the current model, which an editor could not show otherwise.
func modelValues(models []agent.Model, current string) []configValue {
	values, known := make([]configValue, 0, len(models)+1), false
	for _, m := range models {
		values = append(values, configValue{Value: m.ID, Name: cmp.Or(m.Name, m.ID)})
		known = known || m.ID == current
	}
	if !known {
		values = append(values, configValue{Value: current, Name: current})
	}
	return values
}

// setMode chooses the mode in order, so that a prompt right behind it has that mode, and then stores it.
func (n *connection) setMode(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	var p acp.SetModeParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	a, err := n.attachment(p.SessionID)
	if err == nil {
		err = a.chooseMode(p.Mode)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		a.storeMode()
		// Editors that show the options instead of the modes see the change, too.
		return acp.Present{}, a.update(ctx, optionsUpdate{"config_option_update", a.settings(a.session().Info().Model).Options})
	}, nil
}

// chooseMode chooses the mode of the next prompt.
func (a *attachment) chooseMode(id string) error {
	mode, err := event.ParseMode(id)
	if err != nil || id == "" {
		return fault.Errorf(fault.Invalid, "there is no mode %q", id)
	}
	a.chosen.Store(&mode)
	return nil
}

// storeMode stores the mode with the session, for when it is loaded again. It may wait for another process.
func (a *attachment) storeMode() {
	a.storing.Lock() // else an older choice could be stored last
	defer a.storing.Unlock()
	a.session().SetAttribute(attributeMode, string(a.mode()))
}

// setOption is setMode for all options.
func (n *connection) setOption(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	var p setOptionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	a, err := n.attachment(p.SessionID)
	if err != nil {
		return nil, err
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, jsonrpc.InvalidParams(`"value" must be a string: all options are lists of values`)
	}
	var set func(context.Context) error
	switch p.Option {
	case optionMode:
		err = a.chooseMode(value)
		set = func(ctx context.Context) error {
			a.storeMode()
			return a.update(ctx, modeUpdate{"current_mode_update", value})
		}
	case optionModel:
		set = func(ctx context.Context) error { return a.session().SetModel(ctx, value) }
	default:
		err = jsonrpc.InvalidParams("there is no option %q", p.Option)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		err := set(ctx)
		return optionsResult{a.settings(a.session().Info().Model).Options}, err
	}, nil
}

// commands returns the update with the commands of prompts: the agent's skills, and compaction.
func (a *attachment) commands(ctx context.Context) commandsUpdate {
	list := []command{{Name: compact, Description: "Summarize the conversation, to make room in the context window", Input: &commandInput{"a prompt to continue with"}}}
	found, err := a.conn.host().Extensions(ctx, a.directory)
	if err != nil {
		a.conn.api.options.Log.Debug("the skills of a session are not known", "session", a.id, "err", err)
	}
	for _, s := range found.Skills {
		if s.Enabled && s.Invocable {
			list = append(list, command{Name: s.Name, Description: s.Description})
		}
	}
	return commandsUpdate{"available_commands_update", list}
}
