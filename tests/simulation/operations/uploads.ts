import { Violation } from "../model/fact";
import { Upload } from "../model/releases";
import type { Step } from "./operation";

const DAY_MS = 86_400_000;
const TUS = { "tus-resumable": "1.0.0" };
const PATH = "/api/admin/uploads";
/** After these the upload goes on. */
const MAY_GO_ON = new Set(["upload_locked", "upload_offset_mismatch", "disk_full"]);
const PART = { ...TUS, "content-type": "application/offset+octet-stream" };

/**
 * Uploads a file in parts, or as far as `until`. Continues after a failure. Returns null without an answer. `job`: the access
 * token of a CI job, which may expire.
 */
export async function upload(
  step: Step,
  text: string,
  fileName: string,
  { until = text.length, job = null }: { until?: number; job?: string | null } = {},
): Promise<Upload | null> {
  const { model, random } = step;
  const { key, uploads } = model.catalog;
  const token = job ?? key;
  const metadata = `filename ${Buffer.from(fileName).toString("base64")}`;
  const headers = { ...TUS, "upload-length": String(text.length), "upload-metadata": metadata };
  const created = await step.send(`upload ${fileName}`, "POST", PATH, { token, headers });
  if (created.outcome !== "done") return null;
  const one = new Upload(created.body.id, step.nowMs);
  if (!job) uploads.push(one);
  if (random.chance(0.3)) await tryUploadOfAnother(step, one);
  for (let offset = 0, tries = 0; offset < until; tries++) {
    if (tries === 8) return null;
    const body = text.slice(offset, offset + 1 + random.below(text.length)).slice(0, until - offset);
    one.sentBytes = Math.max(one.sentBytes, offset + body.length);
    one.writtenAtMs = step.nowMs;
    const part = { token, body, headers: { ...PART, "upload-offset": String(offset) } };
    const send = () => step.send(`send a part of ${fileName}`, "PATCH", `${PATH}/${one.id}`, part);
    // Some parts are sent twice at once: one of the two is stored.
    const answers = await Promise.all(random.chance(0.2) ? [send(), send()] : [send()]);
    const done = answers.filter(({ outcome }) => outcome === "done");
    if (done.length > 1) throw new Violation("part of an upload is stored twice", `${fileName} at ${offset}`);
    if (done.length > 0) one.acknowledgedBytes = offset + body.length;
    if (job && answers.some(({ status }) => status === 401)) return null;
    const refused = answers.find(({ outcome, body: given }) => outcome === "refused" && !MAY_GO_ON.has(given?.code));
    if (refused) throw new Violation("upload is refused", `${fileName}: ${refused.body?.code}`);
    const seen = done.length > 0 ? one.acknowledgedBytes : await seeUpload(step, one, token);
    if (seen === null) continue;
    offset = seen;
  }
  return one;
}

/** Another one than the key that has made an upload sees none. */
async function tryUploadOfAnother(step: Step, { id }: Upload): Promise<void> {
  for (const method of ["HEAD", "PATCH", "DELETE"]) {
    const isPart = method === "PATCH";
    const sent = {
      operator: "sim",
      headers: isPart ? { ...PART, "upload-offset": "0" } : TUS,
      ...(isPart && { body: "x" }),
    };
    const { outcome } = await step.send("use an upload of another", method, `${PATH}/${id}`, sent);
    if (outcome === "done") throw new Violation("upload of another works", `${method} ${id}`);
  }
}

/** How much of an upload has arrived; null if no answer says it. */
export async function seeUpload(step: Step, one: Upload, token = step.model.catalog.key): Promise<number | null> {
  const sent = { token, headers: TUS };
  const answer = await step.send("see an upload", "HEAD", `${PATH}/${one.id}`, sent);
  if (answer.outcome === "unknown" || answer.status === 401) return null;
  const offset = answer.outcome === "done" ? Number(answer.headers.get("upload-offset")) : null;
  if (offset !== null && step.nowMs > one.writtenAtMs + 2 * DAY_MS)
    throw new Violation("expired data is kept", `the upload ${one.id}`);
  one.saw(offset, step.nowMs);
  return offset;
}
