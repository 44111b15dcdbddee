export default function Page() {
  return (
    <main>
      <h1>Homeport</h1>
      <p>The backend that our products come home to.</p>
      <ul>
        <li>
          <a href="/api/health">Health</a>
        </li>
        <li>
          <a href="/api/version">Version</a>
        </li>
      </ul>
    </main>
  );
}
