// Icons: line drawings in the colour of the text around them.

package web

import (
	"fmt"
	"html/template"
)

// icon returns the drawing with a name as SVG for a page. The text beside it says
// what it means, so it is hidden from screen readers.
func icon(name string) (template.HTML, error) {
	lines := ""
	switch name {
	case "tick":
		lines = `<path d="M4.5 12.5l5 5L20 7"/>`
	case "cross":
		lines = `<path d="M6 6l12 12M18 6L6 18"/>`
	case "stop":
		lines = `<path d="M12 5.5v8M12 18.4v.1"/>`
	case "warning":
		lines = `<path d="M12 4L2.8 19.5h18.4zM12 10v4.5M12 17v.1"/>`
	case "info":
		lines = `<circle cx="12" cy="12" r="9"/><path d="M12 11v5.5M12 7.6v.1"/>`
	case "clock":
		lines = `<circle cx="12" cy="12" r="9"/><path d="M12 7v5.3l3.4 2.2"/>`
	case "hourglass":
		lines = `<path d="M7 3.5h10M7 20.5h10M8 3.5v3.8L12 12l4-4.7V3.5M8 20.5v-3.8L12 12l4 4.7v3.8"/>`
	case "broken-link":
		lines = `<path d="M10 6.5l1.6-1.6a4.4 4.4 0 0 1 6.2 6.2l-1.9 1.9M14 17.5l-1.6 1.6a4.4 4.4 0 0 1-6.2-6.2L8.1 11M4 4l16 16"/>`
	case "cloud":
		lines = `<path d="M7 18.5a4.5 4.5 0 0 1-.6-9A6 6 0 0 1 17.9 11a3.8 3.8 0 0 1-.4 7.5z"/>`
	case "shield":
		lines = `<path d="M12 3l7.5 2.8v5.7c0 4.6-3.2 7.9-7.5 9.5-4.3-1.6-7.5-4.9-7.5-9.5V5.8z"/>`
	case "lock":
		lines = `<rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>`
	case "person":
		lines = `<circle cx="12" cy="8" r="4"/><path d="M4.5 20.5a7.5 6.5 0 0 1 15 0"/>`
	case "people":
		lines = `<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 20a6.5 6 0 0 1 13 0M16 5.3a3.5 3.5 0 0 1 0 6.4M18 14.6a6 6 0 0 1 3.5 5.4"/>`
	case "document":
		lines = `<path d="M6 3h8l5 5v13H6zM14 3v5h5M9 13h6M9 16.5h6"/>`
	case "image":
		lines = `<rect x="3.5" y="4.5" width="17" height="15" rx="2"/><circle cx="9" cy="10" r="1.6"/><path d="M4 17.5l5-4 3.5 2.8L16 12.5l4.5 4.5"/>`
	case "camera":
		lines = `<path d="M4 7.5h3.5L9 5h6l1.5 2.5H20v12H4z"/><circle cx="12" cy="13" r="3.6"/>`
	case "upload":
		lines = `<path d="M12 16V4.5M7.5 9L12 4.5 16.5 9M4.5 15.5v4h15v-4"/>`
	case "download":
		lines = `<path d="M12 4.5V16M7.5 11.5L12 16l4.5-4.5M4.5 15.5v4h15v-4"/>`
	case "place":
		lines = `<path d="M12 21s7-6.2 7-11a7 7 0 0 0-14 0c0 4.8 7 11 7 11z"/><circle cx="12" cy="10" r="2.5"/>`
	case "search":
		lines = `<circle cx="10.5" cy="10.5" r="6.5"/><path d="M15.5 15.5L21 21"/>`
	case "filter":
		lines = `<path d="M3.5 5.5h17L14 13v6.5l-4-2V13z"/>`
	case "eye":
		lines = `<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z"/><circle cx="12" cy="12" r="3"/>`
	case "zoom-in":
		lines = `<circle cx="10.5" cy="10.5" r="6.5"/><path d="M15.5 15.5L21 21M10.5 8v5M8 10.5h5"/>`
	case "zoom-out":
		lines = `<circle cx="10.5" cy="10.5" r="6.5"/><path d="M15.5 15.5L21 21M8 10.5h5"/>`
	case "rotate":
		lines = `<path d="M19.5 12a7.5 7.5 0 1 1-2.3-5.4M19.5 3.5v4h-4"/>`
	case "refresh":
		lines = `<path d="M20 11a8 8 0 0 0-14.3-4L4 9M4 4.5V9h4.5M4 13a8 8 0 0 0 14.3 4l1.7-2M20 19.5V15h-4.5"/>`
	case "compare":
		lines = `<rect x="3.5" y="5" width="7" height="14" rx="1"/><rect x="13.5" y="5" width="7" height="14" rx="1"/>`
	case "flag":
		lines = `<path d="M5.5 21V4M5.5 4.5h12l-2.5 4 2.5 4h-12"/>`
	case "branch":
		lines = `<circle cx="6.5" cy="6" r="2.2"/><circle cx="6.5" cy="18" r="2.2"/><circle cx="17.5" cy="8" r="2.2"/><path d="M6.5 8.2v7.6M17.5 10.2c0 4-11 2-11 5.6"/>`
	case "chart":
		lines = `<path d="M4 4v16h16M8.5 16.5v-4M12.5 16.5v-8M16.5 16.5v-6"/>`
	case "inbox":
		lines = `<path d="M3.5 13.5L6.5 5h11l3 8.5v6h-17zM3.5 13.5h5l1.5 2.5h4l1.5-2.5h5"/>`
	case "send":
		lines = `<path d="M21 3.5L10.5 14M21 3.5l-6.5 17-4-6.5-6.5-4z"/>`
	case "sign-out":
		lines = `<path d="M10 4H5v16h5M15 7.5l4.5 4.5-4.5 4.5M19.5 12H9.5"/>`
	case "menu":
		lines = `<path d="M4 6.5h16M4 12h16M4 17.5h16"/>`
	case "down":
		lines = `<path d="M6 9.5l6 6 6-6"/>`
	case "previous":
		lines = `<path class="mirror" d="M14.5 5.5L8 12l6.5 6.5"/>`
	case "next":
		lines = `<path class="mirror" d="M9.5 5.5L16 12l-6.5 6.5"/>`
	case "phone":
		lines = `<path d="M5 4h4l1.5 5-2.2 1.6a12 12 0 0 0 5.1 5.1l1.6-2.2 5 1.5v4c0 .8-.7 1.5-1.5 1.5C11 20 4 13 3.5 5.5 3.5 4.7 4.2 4 5 4z"/>`
	case "globe":
		lines = `<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c3.3 3 3.3 15 0 18M12 3c-3.3 3-3.3 15 0 18"/>`
	case "external":
		lines = `<path d="M13.5 4.5h6v6M19.5 4.5L11 13M18 14v5.5H4.5V6H10"/>`
	default:
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` + lines + `</svg>`), nil //nolint:gosec // G203: a constant
}
