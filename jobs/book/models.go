package book

// defaultRetries results in five attempts on the driving model, as many as task sessions have.
const defaultRetries = 4

func (l *loader) models(s located) {
	l.book.Models.ByCategory = map[string]string{}
	for _, p := range s.entries() {
		at := s.key(p)
		if p.key == "" {
			at.faultAt(p.line, "is not a category")
		}
		if at.hasKind(text) {
			l.book.Models.ByCategory[p.key] = at.text
			continue
		}
		l.book.Models.ByCategory[p.key] = "" // defined, whatever else is wrong with it
	}
	if s.shape == object && !has(l.book.Models.ByCategory, Driving) {
		located{s.value, join(s.path, Driving), s.faults}.fault(`is missing ("" is the portal's default model)`)
	}
}

func (l *loader) retries(s located) {
	for i, item := range s.nonEmptyList() {
		f, ok := item.fields("modelId", "retries")
		if !ok {
			continue
		}
		var r Retry
		f.must("modelId", func(s located) {
			if !s.hasKind(text) {
				return
			}
			r.ModelID = s.text
			if driving, ok := l.book.Models.ByCategory[Driving]; ok && i == 0 && r.ModelID != driving {
				s.fault("%s is not the driving model %s, which must be the first", quote(r.ModelID), quote(driving))
			}
		})
		f.must("retries", func(s located) { r.Retries = s.integer(0) })
		l.book.Models.Retries = append(l.book.Models.Retries, r)
	}
}

// model reads a reference to a model.
func (l *loader) model(s located) (ref ModelRef) {
	f, ok := s.fields("category", "id")
	if !ok {
		return ref
	}
	byCategory := f.may("category", func(s located) {
		if ref.Category = s.word(); ref.Category != "" && !has(l.book.Models.ByCategory, ref.Category) {
			s.fault("%s is not a category of models", quote(ref.Category))
		}
	})
	if byID := f.may("id", func(s located) { ref.ID = s.word() }); byID == byCategory {
		s.fault("must have either a category or an id")
	}
	return ref
}
