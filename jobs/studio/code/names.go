package code

// What the scan refuses, and why. The reasons are for the model that repairs the code.
const (
	noCode    = "code must not be made of text"
	noModules = "there are no modules: React is a global, and App needs no export"
	noWay     = "the frame has no way to the page around it"
	noNetwork = "the only way to the network is fetch"
	noStore   = "the frame has no storage; keep state in React"
	noHTML    = "elements are made by React, not of HTML text"
	noWorker  = "the frame has no workers"
	noHiding  = "write the name of what is used"
)

// refusedGlobals are refused as names and as properties of window.
func refusedGlobals() map[string]string {
	return map[string]string{
		"eval": noCode, "Function": noCode, "execScript": noCode,
		"require": noModules, "importScripts": noModules, "module": noModules, "exports": noModules,
		"parent": noWay, "top": noWay, "opener": noWay, "frames": noWay, "frameElement": noWay, "postMessage": noWay, "BroadcastChannel": noWay,
		"XMLHttpRequest": noNetwork, "WebSocket": noNetwork, "EventSource": noNetwork, "WebTransport": noNetwork, "RTCPeerConnection": noNetwork,
		"localStorage": noStore, "sessionStorage": noStore, "indexedDB": noStore, "caches": noStore, "cookieStore": noStore,
		"Worker": noWorker, "SharedWorker": noWorker,
	}
}

// refusedProperties are refused of every object, as their names mean nothing else.
func refusedProperties() map[string]string {
	return map[string]string{
		"innerHTML": noHTML, "outerHTML": noHTML, "insertAdjacentHTML": noHTML, "dangerouslySetInnerHTML": noHTML, "srcdoc": noHTML, "srcDoc": noHTML,
		"createContextualFragment": noHTML, "sendBeacon": noNetwork, "serviceWorker": noWorker, "contentWindow": noWay, "contentDocument": noWay,
	}
}

// refusedOfDocument are refused of document only: an order may have a cookie.
func refusedOfDocument() map[string]string {
	return map[string]string{"cookie": noStore, "write": noHTML, "writeln": noHTML}
}

func isWindow(name string) bool { return name == "window" || name == "self" || name == "globalThis" }

func isForeignElement(tag string) bool {
	switch tag {
	case "script", "iframe", "frame", "object", "embed":
		return true
	}
	return false
}
