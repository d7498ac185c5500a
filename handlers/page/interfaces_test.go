package page_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/page"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// withInterfaces is inTime with a gallery whose agents generate an interface.
func withInterfaces(t *testing.T, test func(*portal)) {
	t.Helper()
	inTime(t, func(p *portal) {
		s := studio.New(studio.Options{Sessions: p.Host, Policy: permission.Everywhere(permission.Deny), Directory: "/"})
		all := gallery.New(gallery.Options{Studio: s})
		p.Agents.Script = func(t *fake.Turn) {
			t.Say("```jsx\nfunction App() { return <h1>Films</h1>; }\n```\nDescription: It shows a title.\n")
		}
		p.Serve(uitest.Options{Page: page.Options{Gallery: all}})
		defer all.Close(p.Context())
		test(p)
	})
}

func TestRepeatedCreationReturnsTheFirstInterface(t *testing.T) {
	withInterfaces(t, func(p *portal) {
		u := p.Able()
		ids := map[any]bool{}
		for _, key := range []string{"one", "one", "two"} {
			created, _ := u.Ask("portal.interfaces.create", document{"text": films, "key": key})["interface"].(document)
			ids[created["interface_id"]] = true
		}
		assert.Len(t, ids, 2)
	})
}

const films = `{"openapi": "3.0.3", "info": {"title": "Films", "version": "1"}, "paths": {"/films": {"get": {"responses": {"200": {"description": "OK"}}}}}}`

func TestInterfaceIsCreatedAndWatched(t *testing.T) {
	withInterfaces(t, func(p *portal) {
		u := p.Able()
		made, _ := u.Ask("portal.interfaces.create", document{"text": films})["interface"].(document)
		id, _ := made["interface_id"].(string)
		require.NotEmpty(t, id)
		u.Ask("portal.interface.watch", document{"interface_id": id})
		var types []string
		for _, f := range u.Raw() {
			if params, ok := f["params"].(document); ok && f["method"] == "portal.interface.event" {
				kind, _ := params["type"].(string)
				types = append(types, kind)
			}
		}
		got := u.Ask("portal.interface.get", document{"interface_id": id})
		assert.Contains(t, got["script"], "Films")
		assert.EqualValues(t, 1, got["version"])
		assert.NotContains(t, types, "deleted")
		assert.Equal(t, document{"html": "", "added": 0.0, "removed": 0.0}, u.Ask("portal.interface.compare", document{"interface_id": id, "from": 1, "to": 1}))
		assert.Equal(t, document{"allowed": true, "private": true}, u.Ask("portal.interface.allow", document{"interface_id": id, "base_url": "http://127.0.0.1:1"}))
		listed, _ := u.Ask("portal.interfaces.list", document{})["interfaces"].([]any)
		require.Len(t, listed, 1)
		first, _ := listed[0].(document)
		assert.EqualValues(t, 1, first["version_count"])
		assert.NotContains(t, first, "versions", "they may have long prompts")
		assert.Equal(t, document{"watched": true}, u.Ask("portal.interface.unwatch", document{"interface_id": id}))
		assert.Equal(t, document{"watched": false}, u.Ask("portal.interface.unwatch", document{"interface_id": id}))
		u.Ask("portal.interface.delete", document{"interface_id": id})
		assert.Equal(t, []any{}, u.Ask("portal.interfaces.list", document{})["interfaces"])
	})
}
