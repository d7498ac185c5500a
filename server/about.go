package server

import (
	"os"

	"github.com/copilot-portal/portal/handlers/ui"
)

// about is what UIs are told of the portal. Nothing of it is secret.
func (k *portalCore) about() ui.About {
	providers := make([]ui.Provider, 0, len(k.config.Providers))
	for _, p := range k.config.Providers {
		providers = append(providers, ui.Provider{Name: p.Name, Type: p.Type, Models: append([]string{}, p.Models...)})
	}
	p := k.config.Permissions
	return ui.About{
		Started: k.started, Storage: k.aboutStorage, Providers: providers,
		Configuration: ui.Configuration{
			File: k.config.File, Model: k.config.Model, Demo: k.config.Demo,
			Permissions: ui.Permissions{Rest: p.Rest, Headless: p.Headless, Rules: p.Rules},
		},
	}
}

// aboutStorage says the same as GET /health.
func (k *portalCore) aboutStorage() ui.Storage {
	health := k.storage.health()
	told := ui.Storage{OK: k.storage.isStoring() == 1, Message: health.Message, Directory: k.config.DataDir}
	if k.storage.store != nil {
		told.Bytes = sizeOf(k.config.DataDir)
	}
	return told
}

// sizeOf is how many bytes the files in a directory have.
func sizeOf(dir string) (bytes int64) {
	entries, _ := os.ReadDir(dir) // what cannot be read is not counted
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}
