package names

import "slices"

// Deciding returns the rule that decides on two tokens, what it says, and what would be said without it.
func (c *Comparer) Deciding(kind Kind, a, b *Token) (rule, why string, similarity, without float32) {
	w, all := c.wordsOf(kind, a, b, mixed)
	i, v := decide(c, all, w)
	_, o := decide(c, slices.Delete(slices.Clone(all), i, i+1), w)
	return all[i].name, v.why, v.similarity, o.similarity
}

// Rules returns the names of the rules by which two tokens are compared.
func (c *Comparer) Rules() (all []string) {
	for _, r := range slices.Concat(c.rules.people, c.rules.companies) {
		all = append(all, r.name)
	}
	return all
}
