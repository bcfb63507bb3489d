// The measures and colours of the page.

package pdf

import "github.com/verifyd/verifyd/adapters/pdf/typeset"

// ink is a colour, 0xRRGGBB.
type ink uint32

// The colours of the page. Each carries enough contrast to read in grey.
const (
	inkText   ink = 0x1B2430
	inkMuted  ink = 0x5C6877
	inkAccent ink = 0x1F3A5F
	inkLine   ink = 0xCBD2DB
	inkPanel  ink = 0xF4F6F9
	inkPaper  ink = 0xFFFFFF
)

// tone is a pair of colours: what stands in the foreground, and what lies
// behind it.
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
	marginBottom = 10.0
	headHeight   = 12.0
	footHeight   = 9.0
	contentWidth = pageWidth - 2*marginSide
	// slack keeps sums of heights below the page, whatever their rounding. It
	// is not a round number, so that the last sum is not one either.
	slack      = 0.0500000003
	bodyHeight = pageHeight - marginTop - marginBottom - headHeight - footHeight - slack
	hairline   = 0.2
)

// style is the size, weight and colour of text.
type style struct {
	typeset.Style
	ink ink
}

func styleTitle() style    { return style{typeset.Style{Size: 21, Bold: true}, inkAccent} }
func styleSubtitle() style { return style{typeset.Style{Size: 11.5}, inkText} }
func styleSection() style  { return style{typeset.Style{Size: 12.5, Bold: true}, inkAccent} }
func styleHeading() style  { return style{typeset.Style{Size: 10.5, Bold: true}, inkText} }
func styleBody() style     { return style{typeset.Style{Size: 9}, inkText} }
func styleStrong() style   { return style{typeset.Style{Size: 9, Bold: true}, inkText} }
func styleCell() style     { return style{typeset.Style{Size: 8.5}, inkText} }
func styleKey() style      { return style{typeset.Style{Size: 8.5}, inkMuted} }
func styleCaption() style  { return style{typeset.Style{Size: 7.5}, inkMuted} }
func styleFigure() style   { return style{typeset.Style{Size: 17, Bold: true}, inkText} }
func styleBadge() style    { return style{typeset.Style{Size: 7.5, Bold: true}, inkText} }
