import { requestOf } from "./operations";

const TIMEOUT_MS = 5_000;

/**
 * What to say if the service at the URL has another version than this command line: both, and the URL of the package of its own,
 * if it hands that out. null: the versions are the same, or the service does not say its own. Never rejects.
 */
export async function versionNotice(url: string, own: string): Promise<string | null> {
  const request = (path: string, method = "GET") =>
    fetch(`${url}${path}`, { method, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  try {
    const { version } = (await (await request(requestOf("getVersion").path)).json()) as { version?: unknown };
    if (typeof version !== "string" || version === own || !/^\d+\.\d+\.\d+[\w.+-]{0,64}$/.test(version)) return null;
    const file = `/install/homeport-${version}.tgz`;
    const { ok } = await request(file, "HEAD");
    return `This is homeport ${own}, and the service has version ${version}.${ok ? ` Use its own: npx --yes ${url}${file}` : ""}`;
  } catch {
    return null;
  }
}
