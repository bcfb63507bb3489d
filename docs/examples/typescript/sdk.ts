// A run whose customer declines the consent, with the calls that @hey-api/openapi-ts makes.

import { client } from "./generated/sdk/client.gen.js";
import { deliverSignal, readRun, startRun } from "./generated/sdk/index.js";

client.setConfig({
  baseUrl: process.env.VERIFYD_URL ?? "http://127.0.0.1:8080",
  throwOnError: true,
  headers: { "client-id": process.env.CLIENT_ID, "x-api-key": process.env.API_KEY },
});

const { data: run } = await startRun({
  path: { id: process.env.WORKFLOW ?? "" },
  body: { reference_id: "person-2", input: { channel: "desk" } },
  throwOnError: true,
});
const { data: read } = await readRun({ path: { id: run.id }, throwOnError: true });
if ("run" in read) { // a report has a run, a run does not
  throw new Error("this is the report");
}
console.log(`${read.status}, ${read.action_required?.type}`);
if (read.action_required?.type === "customer_input") {
  const url: string = read.action_required.url; // the hosted journey
  console.log(`the customer goes to ${new URL(url).pathname.replace(/[^/]+$/, "")}`);
}
await deliverSignal({
  path: { run_id: run.id, signal_name: "consent_submitted" },
  body: { payload: { consent_status: "declined" } },
  throwOnError: true,
});
const { data: over } = await readRun({ path: { id: run.id }, throwOnError: true });
console.log("run" in over ? "this is the report" : over.status);
