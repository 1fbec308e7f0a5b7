import BatchEngine

/// The format of a list of digests.
public enum ManifestFormat: String, CaseIterable, Sendable {
  /// `digest  name`, as `sha256sum` prints.
  case gnu
  /// `SHA256 (name) = digest`, as `sha256sum --tag` prints.
  case bsd
  /// `size,md5,sha256,name` below a header, as `hashdeep` prints.
  case hashdeep
  /// `./name type=file size=… time=… sha256digest=…`, as `bsdtar --format=mtree` writes.
  case mtree
  /// One JSON object in each line.
  case json
}
