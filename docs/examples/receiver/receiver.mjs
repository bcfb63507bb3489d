// Receives the notices of a verifyd and prints each once, without a library.
// WEBHOOK_SECRET=whsec_... LISTEN=9000 node receiver.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const saved = new Set(); // a real receiver keeps the ids in its database

function authentic(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": sent, "webhook-signature": signatures = "" } = headers;
  if (!id || !(Math.abs(Date.now() / 1000 - Number(sent)) <= 300)) return false;
  const want = createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest();
  return signatures.split(" ").some((entry) => {
    const [version, text] = entry.split(",");
    const got = Buffer.from(text ?? "", "base64");
    return version === "v1" && got.length === want.length && timingSafeEqual(got, want);
  });
}

createServer((request, response) => {
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    size += chunk.length;
    if (size > 1 << 20) request.destroy();
    else chunks.push(chunk);
  });
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!authentic(request.headers, body)) return response.writeHead(401).end();
    const id = request.headers["webhook-id"];
    if (!saved.has(id)) {
      const notice = JSON.parse(body);
      console.log(`${id} ${notice.type} of ${notice.data.reference_id}`);
      saved.add(id);
    }
    response.writeHead(204).end();
  });
}).listen(Number(process.env.LISTEN), "127.0.0.1", function () {
  console.error(`listening on ${this.address().port}`);
});
