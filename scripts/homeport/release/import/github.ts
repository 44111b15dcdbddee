import { z } from "zod";
import { channelOf } from "../../../../lib/releases/publishing/folder/found-releases";
import { MinisignSignature } from "../../../../lib/releases/signatures";
import { UsageError } from "../../../command-line";
import { parseFeed } from "./feeds";
import { getDocument, type Headers, unavailable } from "./http";
import {
  isInstallable,
  parseAs,
  parseSourceVersion,
  platformIn,
  type Source,
  type SourceFile,
  type SourceRelease,
} from "./source";

const API_VERSION = "2022-11-28";
const PAGE_SIZE = 100;
/** GitHub itself lists 10,000 releases. */
const MAX_PAGES = 100;

const HttpUrl = z.url({ protocol: /^https?$/ });

/** GitHub, "List releases". `digest` is missing for assets of before June 2025. */
const Assets = z.array(
  z.object({
    name: z.string(),
    url: HttpUrl,
    browser_download_url: HttpUrl.optional(),
    size: z.int(),
    state: z.string(),
    digest: z.string().nullish(),
  }),
);
const Releases = z.array(
  z.object({
    tag_name: z.string(),
    name: z.string().nullish(),
    body: z.string().nullish(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    published_at: z.string().nullish(),
    assets: Assets,
  }),
);
type GitHubRelease = z.infer<typeof Releases>[number];
type Asset = z.infer<typeof Assets>[number];

/** Documents that describe the other files of a release. */
const FEED = /^(RELEASES|releases\..+\.json|latest\.json|appcast[^/]*\.xml)$|\.yml$/;
/** Names that other documents may have, too. */
const PERHAPS_FEED = /^(?!latest|alpha|beta).*\.yml$|^latest\.json$/;
const NO_FEED = /^(builder-debug\.yml|builder-effective-config\.yaml)$/;

export type GitHubOptions = { apiUrl: string; token: string | undefined };

/** `example/app`, or the repository's page. @throws UsageError */
export function parseRepository(text: string): string {
  const [, repository] = /^(?:https:\/\/[^/]+\/)?([\w.-]+\/[\w.-]+?)(?:\.git|\/releases)?\/?$/.exec(text) ?? [];
  if (repository) return repository;
  throw new UsageError("--from github takes a repository: OWNER/REPO.");
}

/** The releases of a repository, without drafts. The token is for the API's server alone. @throws CommandError */
export async function readGitHub(repository: string, options: GitHubOptions): Promise<Source> {
  const headers = headersOf(options);
  const { authorization: _, ...withoutToken } = headers;
  const { origin } = new URL(options.apiUrl);
  const areOwn = (assets: readonly Asset[]) => assets.every((asset) => new URL(asset.url).origin === origin);
  const source: Source = { releases: [], notes: [] };
  const first = `${options.apiUrl.replace(/\/+$/, "")}/repos/${repository}/releases?per_page=${PAGE_SIZE}`;
  let url: string | null = first;
  for (let page = 0; url !== null && page < MAX_PAGES; page += 1) {
    const { text, response } = await getDocument(url, headers).catch((error: Error) => {
      throw options.token || !error.message.endsWith("404.")
        ? error
        : unavailable(first, "the response status is 404. A private repository needs GITHUB_TOKEN.");
    });
    for (const release of parseAs(Releases, parseJson(first, text), { name: first })) {
      if (release.draft) continue;
      const version = parseSourceVersion(release.tag_name);
      if (version === null) source.notes.push(`${release.tag_name} is skipped: its tag has no version such as v1.2.3.`);
      else source.releases.push(toRelease(release, version, areOwn(release.assets) ? headers : withoutToken));
    }
    url = nextPage(response, url);
  }
  return source;
}

function headersOf({ apiUrl, token }: GitHubOptions): Headers {
  const { protocol, hostname } = new URL(apiUrl);
  const isSafe = protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (token && !isSafe)
    throw new UsageError("GITHUB_API_URL must be an https URL, since requests contain GITHUB_TOKEN.");
  return {
    accept: "application/vnd.github+json",
    "x-github-api-version": API_VERSION,
    ...(token && { authorization: `Bearer ${token}` }),
  };
}

function parseJson(url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unavailable(url, "the response is not JSON. Is GITHUB_API_URL the URL of GitHub's API?");
  }
}

/** Pages of another server get neither the token nor a request. */
function nextPage({ headers }: Response, url: string): string | null {
  const [, next = ""] = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "") ?? [];
  return URL.canParse(next) && new URL(next).origin === new URL(url).origin ? next : null;
}

function toRelease(release: GitHubRelease, version: string, headers: Headers): SourceRelease {
  const assets = release.assets.filter(({ state }) => state === "uploaded");
  const ofVersion = channelOf(version);
  const isRead = ({ name }: Asset) => isFeed(name) || /\.(blockmap|sig|minisig)$/i.test(name);
  const files = assets.filter(({ name }) => isInstallable(name) && !isFeed(name));
  const own: SourceRelease = {
    version,
    channel: release.prerelease && ofVersion === "stable" ? "beta" : ofVersion,
    fields: { notes: release.body ?? undefined, releasedAt: release.published_at ?? undefined },
    files: files.map((asset) => toFile(asset, headers)),
    skipped: assets.filter((asset) => !files.includes(asset) && !isRead(asset)).map(({ name }) => name),
  };
  return { ...own, complete: () => completeRelease(own, assets, headers) };
}

const isFeed = (name: string) => FEED.test(name) && !NO_FEED.test(name);

function toFile(asset: Asset, headers: Headers): SourceFile {
  const { name, size, digest } = asset;
  const [, sha256] = /^sha256:([0-9a-f]{64})$/i.exec(digest ?? "") ?? [];
  const expected = [{ by: "GitHub", sizeBytes: size, ...(sha256 && { sha256: sha256.toLowerCase() }) }];
  return { name, expected, ...locationOf(asset, headers) };
}

/**
 * With a token, the API has the file: its URL responds with a description unless it is asked for the bytes. Without one, the
 * page's link has it, which does not count as a request to the API.
 */
function locationOf({ url, browser_download_url: link }: Asset, headers: Headers): { url: string; headers: Headers } {
  if (headers.authorization === undefined && link !== undefined) return { url: link, headers: {} };
  return { url, headers: { ...headers, accept: "application/octet-stream" } };
}

/** Adds what the feeds, signatures and block maps among the assets say of the other files. */
async function completeRelease(
  release: SourceRelease,
  assets: readonly Asset[],
  headers: Headers,
): Promise<SourceRelease> {
  const described: SourceRelease[] = [];
  const skipped = [...release.skipped];
  for (const asset of assets.filter(({ name }) => isFeed(name))) {
    const found = await readFeed(asset, headers);
    if (found === null) skipped.push(asset.name);
    else described.push(...found);
  }
  const own =
    described.find(({ version }) => version === release.version) ??
    described.find(({ files }) => files.some(({ name }) => release.files.some((file) => isSame(file.name, name))));
  const files: SourceFile[] = [];
  for (const file of release.files) {
    const said = described.flatMap(({ fields, files }) =>
      files.flatMap((one) => (isSame(one.name, file.name) ? [{ ...one, fields }] : [])),
    );
    const merged = said.reduce(merge, file);
    const { minisign = await readSignature(file, assets, headers) } = merged;
    const blockMap = assets.find(
      ({ name }) => /\.(exe|zip)\.blockmap$/i.test(name) && name === `${file.name}.blockmap`,
    );
    files.push({
      ...merged,
      ...(minisign && { minisign, isUpdate: true }),
      blockMapUrl: blockMap && locationOf(blockMap, headers).url,
    });
  }
  return { ...release, version: own?.version ?? release.version, files: withFallbacks(files), skipped };
}

async function readAsset(asset: Asset, headers: Headers): Promise<string> {
  const from = locationOf(asset, headers);
  return (await getDocument(from.url, from.headers)).text;
}

/** null: another document. */
async function readFeed(asset: Asset, headers: Headers): Promise<SourceRelease[] | null> {
  const { name } = asset;
  const text = await readAsset(asset, headers);
  try {
    return parseFeed({ name, text, ...locationOf(asset, headers) }).releases;
  } catch (error) {
    if (PERHAPS_FEED.test(name)) return null;
    throw error;
  }
}

/** A signature beside a file, if it is one of minisign. */
async function readSignature({ name }: SourceFile, assets: readonly Asset[], headers: Headers) {
  const signature = assets.find((asset) => [`${name}.sig`, `${name}.minisig`].includes(asset.name));
  return signature && MinisignSignature.safeParse(await readAsset(signature, headers)).data;
}

/** GitHub replaces spaces in the names of assets by dots, and electron-builder by dashes. */
const isSame = (a: string, b: string) => plain(a) === plain(b);
const plain = (name: string) => name.replaceAll(/[ .-]+/g, "-").toLowerCase();

/** Adds what a feed says of an asset, which keeps its name and URL. The asset's release has the notes. */
function merge(file: SourceFile, said: SourceFile): SourceFile {
  const { notes: _, releasedAt: __, ...fields } = said.fields ?? {};
  return { ...said, ...file, expected: [...file.expected, ...said.expected], fields: { ...file.fields, ...fields } };
}

/** Files that no feed lists, such as an .msi, are of the architecture that their platform's feed leaves out. */
function withFallbacks(files: readonly SourceFile[]): SourceFile[] {
  const fallbacks = new Map(
    files.flatMap(({ platform, fallbackArchitecture: own }) => (platform && own ? [[platform, own]] : [])),
  );
  return files.map((file) => {
    const { platform = platformIn(file.name), fallbackArchitecture = platform && fallbacks.get(platform) } = file;
    return { ...file, ...(fallbackArchitecture && { fallbackArchitecture }) };
  });
}
