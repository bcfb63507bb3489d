package storetest_test

import (
	"context"

	"github.com/verifyd/verifyd/verification/store"
)

// settingUp breaks SaveSetup.
func settingUp(f func(ctx context.Context, sound stores, s store.Setup) error) breakage {
	return func(b *broken, sound stores) {
		b.SaveSetupFunc = func(ctx context.Context, s store.Setup) error { return f(ctx, sound, s) }
	}
}

func setupBreaches() []breach {
	return []breach{
		{"a setup is saved with all that it has", "the version is lost", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			for i := range s.Workflows {
				s.Workflows[i].Added = nil
			}
			return sound.SaveSetup(ctx, s)
		})},
		{"a setup is saved with all that it has", "the audit entries are lost", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			s.Audit = nil
			return sound.SaveSetup(ctx, s)
		})},
		{"a refused setup changes nothing", "the tenants are saved first", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			for _, t := range s.Tenants {
				_ = store.Tables{RowStore: sound}.SaveTenant(ctx, t)
			}
			return sound.SaveSetup(ctx, s)
		})},
		{"a refused setup changes nothing", "a dry run is never refused", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			if s.DryRun {
				return nil
			}
			return sound.SaveSetup(ctx, s)
		})},
		{"a dry run of a setup changes nothing", "SaveSetup ignores DryRun", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			s.DryRun = false
			return sound.SaveSetup(ctx, s)
		})},
		{"a setup with a cancelled context changes nothing", "SaveSetup ignores the context", settingUp(func(ctx context.Context, sound stores, s store.Setup) error {
			return sound.SaveSetup(context.WithoutCancel(ctx), s)
		})},
	}
}
