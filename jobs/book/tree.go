package book

import "encoding/json"

// MarshalJSON encodes a work in the format of books, with its id as workIdInJob.
func (w *Work) MarshalJSON() ([]byte, error) {
	m := map[string]any{"kind": w.Kind, "workIdInJob": w.ID}
	put := func(key string, part *Work) {
		if part != nil {
			m[key] = part
		}
	}
	switch w.Kind {
	case Ref:
		m["taskId"] = w.Task
		if w.ModelOverride != (ModelRef{}) {
			m["modelOverride"] = w.ModelOverride
		}
	case Seq, Par:
		m["works"] = w.Works
	case Loop:
		if w.Pre != nil {
			m["preCondition"] = []any{w.PreWanted, w.Pre}
		}
		if w.Post != nil {
			m["postCondition"] = []any{w.PostWanted, w.Post}
		}
		put("body", w.Body)
		m["maxIterations"] = w.MaxIterations
	case Alt:
		put("condition", w.Condition)
		put("trueWork", w.True)
		put("falseWork", w.False)
	}
	return json.Marshal(m)
}
