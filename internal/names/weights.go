// The numbers of the comparison, from a table.

package names

import (
	"fmt"
	"reflect"
	"strconv"
)

// weights has a field for each line of tables/weights.txt, which says what it is for.
type weights struct {
	Initial, Title, Generic, Filler, Place, Number, Common float32

	PersonExtra, PersonExtraMost, ChainExtra, CompanyExtra, CompanyExtraMinor float32

	OneWord, NoWord, OtherGeneration, OneGeneration, OnlyCommon, DistinctiveDiffers, OtherForm float32

	PersonLeast, CompanyLeast, AlignFirst float32

	Variant, ShortForm, SameSound, SameStem, CommonWordLeast, KnownMost, OtherGender, InitialOf, Acronym float32
	GluedForm, FamilyForm, FamilyOva, Article, ForeignEnding, MixedSystems, Dialect                      float32

	OtherHan, OtherHangul, UnwrittenEdge, UnwrittenShort float32

	Joined, JoinedKnown, JoinedLeast, JoinedCost float32

	LatinSpelling, CompanySpelling, CompanyTyping, TypingErrorsFrom, TypingError, Misread float32

	SameLeast, SameInitial, SameShortForm, MiddleMissing, PatronymicMissing, GenerationMissing, FormMissing, AliasOnly, Refused float32
}

// readWeights returns the weights of the table. It panics if the table does not have
// exactly the fields, because it is embedded.
func readWeights() weights {
	var w weights
	fields := reflect.ValueOf(&w).Elem()
	all := rows("weights.txt")
	for _, f := range all {
		value, err := strconv.ParseFloat(f[1], 32)
		field := fields.FieldByName(f[0])
		if err != nil || !field.IsValid() || field.Float() != 0 {
			panic(fmt.Sprintf("weights.txt: %q is no weight, or is there twice", f))
		}
		field.SetFloat(value)
	}
	if len(all) != fields.NumField() {
		panic(fmt.Sprintf("weights.txt has %d weights, want %d", len(all), fields.NumField()))
	}
	return w
}
