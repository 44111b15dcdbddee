import { z } from "zod";

const TIMEOUT_MS = 10_000;

const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/**
 * Fetches GitHub's user, with the primary verified email of GET /user/emails. The email in the profile is only the one
 * that the user chose to show (GitHub REST API, "Users" and "Emails").
 * @throws Error for a response that is not as documented
 */
export async function fetchGitHubUser(api: string, accessToken: string): Promise<Record<string, unknown>> {
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${api}${path}`, {
      headers: { Authorization: `Bearer ${accessToken}`, Accept: "application/vnd.github+json" },
      redirect: "error", // a redirect would send the token to another host
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`GitHub responded to ${path} with ${response.status}`);
    return response.json();
  };
  const [user, emails] = await Promise.all([get("/user"), get("/user/emails?per_page=100")]);
  const primary = Emails.parse(emails).find(({ primary, verified }) => primary && verified);
  return { ...(user as Record<string, unknown>), email: primary?.email ?? null };
}
