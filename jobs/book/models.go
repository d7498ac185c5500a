package book

// defaultRetries makes five attempts on the driving model, as many as a task session has.
const defaultRetries = 4

func (l *loader) models(s spot) {
	l.book.Models.ByCategory = map[string]string{}
	for _, p := range s.entries() {
		at := s.key(p)
		if p.key == "" {
			at.faultAt(p.line, "is not a category")
		}
		if at.is(text) {
			l.book.Models.ByCategory[p.key] = at.text
			continue
		}
		l.book.Models.ByCategory[p.key] = "" // it is there, whatever else is wrong with it
	}
	if s.shape == object && !has(l.book.Models.ByCategory, Driving) {
		spot{s.value, join(s.path, Driving), s.faults}.fault(`is missing ("" is the portal's default model)`)
	}
}

func (l *loader) retries(s spot) {
	for i, item := range s.some() {
		f, ok := item.fields("modelId", "retries")
		if !ok {
			continue
		}
		var r Retry
		f.must("modelId", func(s spot) {
			if !s.is(text) {
				return
			}
			r.ModelID = s.text
			if driving, ok := l.book.Models.ByCategory[Driving]; ok && i == 0 && r.ModelID != driving {
				s.fault("%s is not the driving model %s, which must be the first", quote(r.ModelID), quote(driving))
			}
		})
		f.must("retries", func(s spot) { r.Retries = s.whole(0) })
		l.book.Models.Retries = append(l.book.Models.Retries, r)
	}
}

// model reads a reference to a model.
func (l *loader) model(s spot) (ref ModelRef) {
	f, ok := s.fields("category", "id")
	if !ok {
		return ref
	}
	byCategory := f.may("category", func(s spot) {
		if ref.Category = s.word(); ref.Category != "" && !has(l.book.Models.ByCategory, ref.Category) {
			s.fault("%s is not a category of models", quote(ref.Category))
		}
	})
	if byID := f.may("id", func(s spot) { ref.ID = s.word() }); byID == byCategory {
		s.fault("must have a category or an id, one of both")
	}
	return ref
}
