package expression_test

import "testing"

func TestUnlikeOperandsAreNamedWithACure(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`input.age > '60000'`, `input.age is a number, '60000' is a text: > cannot be used with them, so write 60000 without quotes`},
		{`steps.details.data.age >= '60000'`, `steps.details.data.age is a number, '60000' is a text: >= cannot be used with them, so write 60000 without quotes`},
		{`input.?age.orValue(0) > '6'`, `input.?age.orValue(0) is a number, '6' is a text: > cannot be used with them, so write 6 without quotes`},
		{`'5' < input.age`, `'5' is a text, input.age is a number: < cannot be used with them, so write 5 without quotes`},
		{`input.age == 'x'`, `input.age is a number, 'x' is a text: == cannot be used with them, so compare input.age with a number`},
		{`input.age == input.name`, `input.age is a number, input.name is a text: == cannot be used with them, so write string(input.age)`},
		{`input.age >= input.name`, `input.age is a number, input.name is a text: >= cannot be used with them, so make input.name a number where it is declared`},
		{`input.name == 3`, `input.name is a text, 3 is a number: == cannot be used with them, so write '3' in quotes`},
		{`input.name < 3`, `input.name is a text, 3 is a number: < cannot be used with them, so make input.name a number where it is declared`},
		{`input.name <= input.age`, `input.name is a text, input.age is a number: <= cannot be used with them, so make input.name a number where it is declared`},
		{`steps.details.data.dob > 2000`, `steps.details.data.dob is a date, 2000 is a number: > cannot be used with them, so write a date in quotes, such as '2000-01-01'`},
		{`steps.details.data.dob == 20000101`, `steps.details.data.dob is a date, 20000101 is a number: == cannot be used with them, so write a date in quotes, such as '2000-01-31'`},
		{`steps.details.data.dob in [2000]`, `steps.details.data.dob is a date, [2000] is a list of numbers: in cannot be used with them, so write its items as dates in quotes, such as '2000-01-31'`},
		{`steps.details.data.dob - '2000-01-01' > 1`, `steps.details.data.dob is a date, '2000-01-01' is a text: - cannot be used with them, so write timestamp('2000-01-01T00:00:00Z'), and a timestamp on the other side`},
		{`run.started_at > '2026-01-01'`, `run.started_at is a time, '2026-01-01' is a text: > cannot be used with them, so write timestamp('2026-01-01T00:00:00Z')`},
		{`run.started_at > 3`, `run.started_at is a time, 3 is a number: > cannot be used with them, so write timestamp('2000-01-31T00:00:00Z')`},
		{`run.started_at < steps.details.data.dob`, `run.started_at is a time, steps.details.data.dob is a date: < cannot be used with them, so write timestamp(steps.details.data.dob + 'T00:00:00Z')`},
		{`run.started_at == input.name`, `run.started_at is a time, input.name is a text: == cannot be used with them, so write timestamp(input.name)`},
		{`input.tags == 'a'`, `input.tags is a list of texts, 'a' is a text: == cannot be used with them, so write 'a' in input.tags to ask whether it is one of them`},
		{`'a' == input.tags`, `'a' is a text, input.tags is a list of texts: == cannot be used with them, so write 'a' in input.tags to ask whether it is one of them`},
		{`input.tags == 3`, `input.tags is a list of texts, 3 is a number: == cannot be used with them, so compare an item of input.tags`},
		{`input.tags > 3`, `input.tags is a list of texts, 3 is a number: > cannot be used with them, so compare an item of input.tags`},
		{`input.tags in 'a'`, `input.tags is a list of texts, 'a' is a text: in cannot be used with them, so write 'a' in input.tags`},
		{`input.name in 'abc'`, `input.name is a text, 'abc' is a text: in cannot be used with them, so write 'abc'.contains(input.name), or a list in brackets`},
		{`input.name in input.address`, `input.name is a text, input.address is an object: in cannot be used with them, so write a list in brackets on the right`},
		{`input.age in 3`, `input.age is a number, 3 is a number: in cannot be used with them, so write a list in brackets on the right`},
		{`input.age in 'abc'`, `input.age is a number, 'abc' is a text: in cannot be used with them, so write a list in brackets on the right`},
		{`input.age in ['1', '2']`, `input.age is a number, ["1", "2"] is a list of texts: in cannot be used with them, so write its items without quotes`},
		{`input.age in ['a']`, `input.age is a number, ["a"] is a list of texts: in cannot be used with them, so write a list of numbers`},
		{`input.age in input.tags`, `input.age is a number, input.tags is a list of texts: in cannot be used with them`},
		{`input.name in [1, 2]`, `input.name is a text, [1, 2] is a list of numbers: in cannot be used with them, so write its items in quotes`},
		{`input.name in input.limits`, `input.name is a text, input.limits is a list of numbers: in cannot be used with them`},
		{`input.active in ['true']`, `input.active is true or false, ["true"] is a list of texts: in cannot be used with them, so write its items without quotes`},
		{`'a' + 1 == 'a1'`, `'a' is a text, 1 is a number: + cannot be used with them, so write string(1) to add it to a text`},
		{`input.age + 'x' == 'a1'`, `input.age is a number, 'x' is a text: + cannot be used with them, so write string(input.age) to add it to a text`},
		{`input.tags + 'a' == input.tags`, `input.tags is a list of texts, 'a' is a text: + cannot be used with them, so write input.tags + ['a'] to add an item`},
		{`input.age - '3' > 1`, `input.age is a number, '3' is a text: - cannot be used with them, so write 3 without quotes`},
		{`input.age * input.name > 1`, `input.age is a number, input.name is a text: * cannot be used with them`},
		{`input.active == 'true'`, `input.active is true or false, 'true' is a text: == cannot be used with them, so write true without quotes`},
		{`input.active == 'yes'`, `input.active is true or false, 'yes' is a text: == cannot be used with them, so write true`},
		{`input.active == 0`, `input.active is true or false, 0 is a number: == cannot be used with them, so write false`},
		{`input.active > 1`, `input.active is true or false, 1 is a number: > cannot be used with them, so use == with true or false`},
		{`input.age % 2 == 0`, `input.age is a number, 2 is a number: % cannot be used with them, so write int(input.age) for whole numbers`},
		{`input.age == size(input.people)`, `input.age is a number, size(input.people) is a number: == cannot be used with them, so write double(size(input.people))`},
		{`size(input.tags) > '3'`, `size(input.tags) is a number, '3' is a text: > cannot be used with them, so write 3 without quotes`},
		{`-input.name == 'x'`, `input.name is a text: - is only for numbers`},
		{`!input.age`, `input.age is a number: ! is only for true or false`},
		{`input.age && true`, `input.age is a number: && is only for true or false`},
		{`true || input.name`, `input.name is a text: || is only for true or false`},
		{`input.address == 'x'`, `input.address is an object, 'x' is a text: == cannot be used with them, so compare a field of input.address`},
		{`input.age == null`, `input.age is a number, null is null: == cannot be used with them, so write !has(input.age) to ask whether it is missing`},
		{`input.name != null`, `input.name is a text, null is null: != cannot be used with them, so write has(input.name) to ask whether it is there`},
		{`input.people.exists(p, p.age > '3')`, `p.age is a number, '3' is a text: > cannot be used with them, so write 3 without quotes`},
		{`input.people.exists(p, input.tags.exists(q, q == p.age))`, `q is a text, p.age is a number: == cannot be used with them, so write string(p.age)`},
		{`input.limits.all(l, l < '3')`, `l is a number, '3' is a text: < cannot be used with them, so write 3 without quotes`},
		{`input.age ? true : false`, `input.age is a number: what is before a ? must be true or false`},
		{`input.active ? 1 : 'x'`, `1 is a number, 'x' is a text: what is before and after a : must be alike`},
	} {
		if _, err := language.Condition(row.text, declared()); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.text, err, row.want)
		}
	}
}

func TestACureOfUnlikeOperandsIsRight(t *testing.T) {
	for _, text := range []string{
		`input.age > 60000`, `string(input.age) == input.name`, `input.name == '3'`, `steps.details.data.dob > '2000-01-01'`,
		`steps.details.data.dob in ['2000-01-31']`, `timestamp(steps.details.data.dob + 'T00:00:00Z') - timestamp('2000-01-01T00:00:00Z') > duration('1h')`,
		`run.started_at > timestamp('2026-01-01T00:00:00Z')`, `run.started_at < timestamp(steps.details.data.dob + 'T00:00:00Z')`,
		`'a' in input.tags`, `'abc'.contains(input.name)`, `input.name in ['abc']`, `input.active == true`, `'a' + string(1) == 'a1'`,
		`input.tags + ['a'] == input.tags`, `int(input.age) % 2 == 0`, `input.age == double(size(input.people))`, `!has(input.age)`, `has(input.name)`,
	} {
		if _, err := language.Condition(text, declared()); err != nil {
			t.Errorf("%s: %v, want no error", text, err)
		}
	}
}
