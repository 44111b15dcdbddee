import { z } from "zod";

const TIMEOUT_MS = 10_000;

const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/**
 * GitHub's user with the one address that GitHub vouches for, the primary verified one of GET /user/emails: the
 * address in the profile is whatever its owner chose to show (GitHub REST API, "Users" and "Emails").
 * @throws Error where GitHub does not answer as documented.
 */
export async function fetchGitHubUser(api: string, accessToken: string): Promise<Record<string, unknown>> {
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`${api}${path}`, {
      headers: { Authorization: `Bearer ${accessToken}`, Accept: "application/vnd.github+json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`GitHub answered ${path} with ${response.status}`);
    return response.json();
  };
  const [user, emails] = await Promise.all([ask("/user"), ask("/user/emails?per_page=100")]);
  const primary = Emails.parse(emails).find(({ primary, verified }) => primary && verified);
  return { ...(user as Record<string, unknown>), email: primary?.email ?? null };
}
