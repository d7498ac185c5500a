package server

import (
	"os"

	"github.com/copilot-portal/portal/handlers/page"
)

// about returns what UIs may know about the portal. It contains no secrets.
func (k *portalCore) about() page.About {
	providers := make([]page.Provider, 0, len(k.config.Providers))
	for _, p := range k.config.Providers {
		providers = append(providers, page.Provider{Name: p.Name, Type: p.Type, Models: append([]string{}, p.Models...)})
	}
	p := k.config.Permissions
	return page.About{
		Started: k.started, Storage: k.aboutStorage, Cluster: k.aboutCluster, Providers: providers,
		Configuration: page.Configuration{
			File: k.config.File, Directory: workDir(), Model: k.config.Model, Demo: k.config.Demo, Terminal: k.config.Terminal,
			Permissions: page.Permissions{Rest: string(p.Rest), Headless: string(p.Headless), Rules: p.Rules},
		},
	}
}

// aboutStorage returns the same state of the storage as GET /health.
func (k *portalCore) aboutStorage() page.Storage {
	health := k.storage.health()
	state := page.Storage{OK: k.storage.isStoring(), Message: health.Message, Directory: k.config.DataDir}
	if k.storage.store != nil {
		state.Bytes = sizeOf(k.config.DataDir)
	}
	return state
}

// aboutCluster returns the same state of the cluster as GET /health; nil without one.
func (k *portalCore) aboutCluster() *page.Cluster {
	h := k.storage.cluster.health()
	if h == nil {
		return nil
	}
	return &page.Cluster{State: h.State, Message: h.Message, Node: h.Node}
}

// sizeOf returns the total size of the files in a directory, in bytes.
func sizeOf(dir string) (bytes int64) {
	entries, _ := os.ReadDir(dir) // unreadable files do not count
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}
