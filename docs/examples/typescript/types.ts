// A run from start to report, with types by openapi-typescript and calls by openapi-fetch:
// an app that asks the customer itself, with a form that it makes from the open step.

import createClient from "openapi-fetch";
import type { components, paths } from "./generated/schema.js";

type Step = components["schemas"]["Step"];
type Field = NonNullable<Step["fields"]>[number];

const api = createClient<paths>({
  baseUrl: process.env.VERIFYD_URL ?? "http://127.0.0.1:8080",
  headers: { "client-id": process.env.CLIENT_ID, "x-api-key": process.env.API_KEY },
});

// must returns the data of an answer, or ends the program with the error of the service.
function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) {
    throw new Error(JSON.stringify(answer.error));
  }
  return answer.data;
}

// ask stands for the form of an app. It answers each field with something that its rules allow.
function ask(field: Field): unknown {
  console.log(`  ${field.label}${field.required ? " (required)" : ""}`);
  switch (field.type) {
    case "select":
      return field.options?.[0]?.value;
    case "date":
      return field.max_date ?? "1990-04-30";
    case "checkbox":
      return true;
    case "number":
      return field.min ?? 1;
    default:
      return "Asha Rao";
  }
}

const run = must(
  await api.POST("/v1/workflows/{id}/runs", {
    params: { path: { id: process.env.WORKFLOW ?? "" }, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { reference_id: "person-1", input: { channel: "app", attempts: 1 } },
  }),
);

for (let waits = run.action_required; waits?.type === "customer_input"; ) {
  const step = must(await api.GET("/v1/runs/{id}/step", { params: { path: { id: run.id }, query: { lang: "hi" } } }));
  console.log(`step ${step.number} of ${step.total}: ${step.label}`);
  const payload: Record<string, unknown> = {};
  if (step.type === "consent") {
    payload.consent_status = "success";
  }
  for (const field of step.fields ?? []) {
    payload[field.name] = ask(field);
  }
  must(
    await api.POST("/v1/signals/{run_id}/{signal_name}", {
      params: { path: { run_id: run.id, signal_name: step.signal_name } },
      body: { payload },
    }),
  );
  const now = must(await api.GET("/v1/runs/{id}", { params: { path: { id: run.id } } }));
  waits = "run" in now ? null : now.action_required; // a report has a run, a run does not
}

const read = must(await api.GET("/v1/runs/{id}", { params: { path: { id: run.id }, query: { view: "report" } } }));
if (!("run" in read)) {
  throw new Error(`this is the run, which is ${read.status}`);
}
console.log(`${read.run.status}, ${read.cards.length} cards, name ${read.cards.at(-1)?.data?.name}`);
