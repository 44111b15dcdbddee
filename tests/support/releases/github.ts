import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startOrigin } from "./origin";

export const TOKEN = "github_pat_example";

export type FakeRelease = {
  tag: string;
  draft?: boolean;
  prerelease?: boolean;
  body?: string;
  assets: Record<string, Buffer>;
  /** Assets of before June 2025 have no digest. */
  hasDigests?: boolean;
};

/**
 * GitHub's API for a private repository (REST API, "Releases" and "Release assets"): one release on a page, and assets that a
 * storage elsewhere has, unless `missing` names them. `asked`: the names of the assets that were downloaded. `limited`: how many
 * requests are refused first. `isPublic`: without a token it lists releases, and no more.
 */
export async function startGitHub(releases: FakeRelease[], limited = 0, isPublic = false) {
  const assets = releases.flatMap((release) =>
    Object.entries(release.assets).map(([name, bytes]) => ({ name, bytes })),
  );
  const asked: string[] = [];
  const missing = new Set<string>();
  const leaked: IncomingMessage[] = [];
  const storage = await startOrigin((request, response) => {
    if (request.headers.authorization !== undefined) leaked.push(request);
    const asset = assets[Number(request.url?.slice(1))];
    asked.push(asset?.name ?? "");
    if (missing.has(asset?.name ?? "")) return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": "application/octet-stream" }).end(asset?.bytes);
  });
  let refused = 0;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const json = (status: number, value: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
    if (request.headers.authorization !== `Bearer ${TOKEN}` && !(isPublic && request.url?.includes("?")))
      return json(404, { message: "Not Found" });
    refused += 1;
    if (refused <= limited) return json(429, { message: "secondary rate limit" }, { "retry-after": "0" });
    const url = new URL(request.url ?? "", api.url);
    const [, id] = /^\/repos\/example\/app\/releases\/assets\/(\d+)$/.exec(url.pathname) ?? [];
    if (id !== undefined && request.headers.accept === "application/octet-stream")
      return response.writeHead(302, { location: `${storage.url}/${id}` }).end();
    if (url.pathname !== "/repos/example/app/releases") return json(404, { message: "Not Found" });
    const page = Number(url.searchParams.get("page") ?? 1);
    const next = `<${api.url}${url.pathname}?page=${page + 1}>; rel="next"`;
    const found = releases[page - 1];
    return json(200, found ? [toJson(found)] : [], page < releases.length ? { link: next } : {});
  };
  const toJson = ({
    tag,
    draft = false,
    prerelease = false,
    body = "",
    assets: own,
    hasDigests = true,
  }: FakeRelease) => ({
    tag_name: tag,
    name: tag,
    body,
    draft,
    prerelease,
    published_at: "2025-03-01T09:00:00Z",
    assets: Object.entries(own).map(([name, bytes]) => ({
      name,
      browser_download_url: `${storage.url}/${assets.findIndex((one) => one.bytes === bytes)}`,
      url: `${api.url}/repos/example/app/releases/assets/${assets.findIndex((one) => one.bytes === bytes)}`,
      size: bytes.length,
      state: "uploaded",
      digest: hasDigests ? `sha256:${createHash("sha256").update(bytes).digest("hex")}` : null,
    })),
  });
  const api = await startOrigin(answer);
  return { apiUrl: api.url, asked, leaked, missing };
}
