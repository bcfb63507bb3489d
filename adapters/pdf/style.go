// Measures and colours.

package pdf

import "github.com/verifyd/verifyd/internal/typeset"

// ink is a colour, 0xRRGGBB.
type ink uint32

// The colours of the page. Each has enough contrast to be read in grey.
const (
	inkText   ink = 0x1B2430
	inkMuted  ink = 0x5C6877
	inkAccent ink = 0x1F3A5F
	inkLine   ink = 0xCBD2DB
	inkPanel  ink = 0xF4F6F9
)

// tone is the foreground and background colour of a status.
type tone struct{ dark, pale ink }

func toneGood() tone    { return tone{0x17603D, 0xE3F3EA} }
func toneBad() tone     { return tone{0xA3201A, 0xFBE8E6} }
func toneCaution() tone { return tone{0x7F5300, 0xFCF1D8} }
func toneNeutral() tone { return tone{0x414C59, 0xE9EDF2} }

// Lengths in millimetres. A page is A4.
const (
	pageWidth    = 210.0
	pageHeight   = 297.0
	marginSide   = 18.0
	marginTop    = 11.0
	marginBottom = 14.0
	// headerHeight is not a multiple of 0.01 as all other heights are: maroto rounds
	// the free height of a page down to 1e-9, so that the page is never too full.
	headerHeight = 12.0000000005
	footerHeight = 5.0
	contentWidth = pageWidth - 2*marginSide
	bodyHeight   = pageHeight - marginTop - marginBottom - headerHeight - footerHeight
	hairline     = 0.2

	gridPerMillimetre = 10 // columns of maroto's grid
)

// style is the size, weight and colour of text.
type style struct {
	typeset.Style
	ink ink
}

func styleLetterhead() style { return style{typeset.Style{Size: 13, Bold: true}, inkAccent} }
func styleName() style       { return style{typeset.Style{Size: 13, Bold: true}, inkText} }
func styleTitle() style      { return style{typeset.Style{Size: 21, Bold: true}, inkAccent} }
func styleSubtitle() style   { return style{typeset.Style{Size: 11.5}, inkText} }
func styleSection() style    { return style{typeset.Style{Size: 12.5, Bold: true}, inkAccent} }
func styleHeading() style    { return style{typeset.Style{Size: 10.5, Bold: true}, inkText} }
func styleBody() style       { return style{typeset.Style{Size: 9}, inkText} }
func styleStrong() style     { return style{typeset.Style{Size: 9, Bold: true}, inkText} }
func styleCell() style       { return style{typeset.Style{Size: 8.5}, inkText} }
func styleKey() style        { return style{typeset.Style{Size: 8.5}, inkMuted} }
func styleCaption() style    { return style{typeset.Style{Size: 7.5}, inkMuted} }
func styleFigure() style     { return style{typeset.Style{Size: 17, Bold: true}, inkText} }
func styleBadge() style      { return style{typeset.Style{Size: 7.5, Bold: true}, inkText} }
