export const metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <>
      <h1>Not found</h1>
      <p className="lead">Check the URL. The page may also have been removed.</p>
      <p>
        <a href="/">Go to the home page</a>
      </p>
    </>
  );
}
