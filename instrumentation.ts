/** Next calls this once per process. Composes the context, except under server.ts, which has composed it. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { hasContext, setContext } = await import("./lib/context");
  if (hasContext()) return;
  const [{ composeContext }, { loadConfig }, { startBackground }] = await Promise.all([
    import("./lib/compose"),
    import("./lib/platform/config"),
    import("./lib/background"),
  ]);
  const context = await composeContext(loadConfig(), { checksTransactions: process.env.NODE_ENV === "development" });
  setContext(context);
  startBackground(context);
}
