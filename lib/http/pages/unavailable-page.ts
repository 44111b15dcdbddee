/**
 * The page instead of one that needs the database while that is out of reach. Plain text of ours, since a page of
 * Next's cannot answer 503; `nonce` is the policy's.
 */
export function unavailablePage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not available – Homeport</title>
<style nonce="${nonce}">body { font: 1rem/1.55 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem }</style>
<main>
<h1>Not available right now</h1>
<p>Your account cannot be reached at the moment. Nothing is lost; try again in a minute.</p>
<p>Meanwhile <a href="/download">downloads</a> go on working.</p>
</main>
</html>
`;
}
