import { createPrivateKey, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { connect, type OutgoingHttpHeaders } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import { startApns } from "@/tests/support/push/apns";
import { BUNDLE_ID, newToken } from "@/tests/support/push/push";

const TOPIC = `${BUNDLE_ID}.push-type.liveactivity`;

/** A fake APNs, and a client that sends it any request. */
async function startClient() {
  const apns = await startApns();
  const { APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID, APNS_CA } = apns.env;
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: APNS_TEAM_ID, iat: Math.floor(Date.now() / 1000) };
  const signed = `${encode({ alg: "ES256", kid: APNS_KEY_ID })}.${encode(claims)}`;
  const key = { key: createPrivateKey(APNS_KEY), dsaEncoding: "ieee-p1363" as const };
  const token = `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
  const session = connect(`https://127.0.0.1:${apns.port}`, { ca: APNS_CA });
  onTestFinished(() => session.destroy());
  return async (path: string, headers: OutgoingHttpHeaders, body: string | object = "", method = "POST") => {
    const authorization = `bearer ${token}`;
    const stream = session.request({ ":method": method, ":path": path, authorization, ...headers });
    stream.end(body === "" ? undefined : typeof body === "string" ? body : JSON.stringify(body));
    const [response] = (await once(stream, "response")) as [Record<string, unknown>];
    let text = "";
    for await (const chunk of stream) text += chunk;
    const { reason = null } = text === "" ? {} : JSON.parse(text);
    return { status: response[":status"], reason, headers: response, text };
  };
}

const aps = (bytes = 0) => ({ aps: { event: "update", "content-state": { text: "x".repeat(bytes) } } });

describe("the fake APNs", () => {
  const headers = {
    "apns-id": randomUUID(),
    "apns-topic": TOPIC,
    "apns-push-type": "liveactivity",
    "apns-priority": 10,
    "apns-expiration": 0,
  };
  test.each<[number, string | null, OutgoingHttpHeaders, object | string]>([
    [200, null, {}, aps()],
    [403, "MissingProviderToken", { authorization: "", "apns-topic": "" }, ""],
    [403, "InvalidProviderToken", { authorization: "bearer a.b.c", "apns-topic": "" }, ""],
    [400, "BadCollapseId", { "apns-collapse-id": "x".repeat(65), "apns-expiration": "soon" }, aps()],
    [400, "BadExpirationDate", { "apns-expiration": "soon", "apns-priority": 7 }, aps()],
    [400, "BadPriority", { "apns-priority": 7, "apns-topic": BUNDLE_ID }, aps()],
    [400, "BadTopic", { "apns-topic": BUNDLE_ID }, aps()],
    [400, "BadTopic", { "apns-push-type": "alert" }, { aps: { alert: {} } }],
    [400, "DeviceTokenNotForTopic", { "apns-topic": "com.example.other.push-type.liveactivity" }, aps()],
    [400, "InvalidPushType", { "apns-topic": BUNDLE_ID, "apns-push-type": "other" }, ""],
    [400, "MissingTopic", { "apns-topic": "" }, ""],
    [400, "PayloadEmpty", {}, {}],
    [413, "PayloadTooLarge", {}, aps(4_096)],
  ])("responds to a notification with %d %s", async (status, reason, changed, body) => {
    const send = await startClient();
    const path = `/3/device/${newToken(80)}`;
    expect(await send(path, { ...headers, ...changed }, body)).toMatchObject({ status, reason });
  });

  test("knows its paths and methods", async () => {
    const send = await startClient();
    expect(await send("/3/devices/ab", headers, aps())).toMatchObject({ status: 404, reason: "BadPath" });
    expect(await send("/3/device/", headers, aps())).toMatchObject({ status: 400, reason: "MissingDeviceToken" });
    expect(await send("/3/device/ab", headers, aps())).toMatchObject({ status: 400, reason: "BadDeviceToken" });
    const notAllowed = { status: 405, reason: "MethodNotAllowed" };
    expect(await send("/3/device/ab", headers, "", "GET")).toMatchObject(notAllowed);
  });
});
