import { expect, test } from "vitest";
import { Authenticator } from "@/tests/support/auth/authenticator";
import {
  anyDatabase,
  bearer,
  preparedDataDir,
  registerAt,
  type Service,
  startForTest,
} from "@/tests/support/process/service";

const STEP_MS = 30_000;

test("a challenge that a killed process issued works in the next process, once", async () => {
  const data = { DATA_DIR: await preparedDataDir(), ...(await anyDatabase()) };
  const first = await startForTest(data);
  const { token, ...person } = await registerAt(first);
  const { id, secret } = await send(first, "/api/auth/factors/totp", {}, token);
  const app = new Authenticator(secret ?? "");
  await send(first, "/api/auth/factors/totp/confirm", { id, code: app.code() }, token);
  const [one, two] = [await send(first, "/api/auth/login", person), await send(first, "/api/auth/login", person)];
  expect(one.code).toBe("second_factor_required");
  await first.end("SIGKILL");

  const second = await startForTest(data);
  const code = app.code(STEP_MS);
  const meet = ({ challenge }: Record<string, string>) => send(second, "/api/auth/login/factor", { challenge, code });
  expect((await meet(one)).tokenType).toBe("Bearer");
  expect((await meet(one)).code).toBe("invalid_challenge");
  expect((await meet(two)).code).toBe("invalid_code");
});

/** Posts JSON. Returns the body of the response. */
async function send(service: Service, path: string, json: object, token = ""): Promise<Record<string, string>> {
  return (await service.post(path, json, token ? bearer(token) : {})).json();
}
