// The measures and colours of the page.

package pdf

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

// millimetres of a length in points.
func millimetres(points float64) float64 { return points * 25.4 / 72 }

// style is how a text is set. Size is in points.
type style struct {
	size float64
	bold bool
	ink  ink
}

// leading is the distance between two baselines, in millimetres. Indic and
// Arabic marks need more room than Latin letters.
func (s style) leading() float64 { return millimetres(s.size * 1.48) }

// ascent is the distance from the top of a line to its baseline.
func (s style) ascent() float64 { return millimetres(s.size * 1.1) }

func styleTitle() style    { return style{size: 21, bold: true, ink: inkAccent} }
func styleSubtitle() style { return style{size: 11.5, ink: inkText} }
func styleSection() style  { return style{size: 12.5, bold: true, ink: inkAccent} }
func styleHeading() style  { return style{size: 10.5, bold: true, ink: inkText} }
func styleBody() style     { return style{size: 9, ink: inkText} }
func styleStrong() style   { return style{size: 9, bold: true, ink: inkText} }
func styleCell() style     { return style{size: 8.5, ink: inkText} }
func styleKey() style      { return style{size: 8.5, ink: inkMuted} }
func styleCaption() style  { return style{size: 7.5, ink: inkMuted} }
func styleFigure() style   { return style{size: 17, bold: true, ink: inkText} }
func styleBadge() style    { return style{size: 7.5, bold: true, ink: inkText} }
