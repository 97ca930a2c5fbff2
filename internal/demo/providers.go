package demo

// listing is a provider of the synthetic market. The names are invented.
type listing struct {
	name        string
	basisPoints int64  // its price against the market, in hundredths of a percent
	regions     string // where it rents, separated by spaces
}

// listings go from the largest provider to the smallest: the rank decides the share of trades. The premiums of the
// large providers balance, so that the market as a whole trades at the level of its models.
var listings = [40]listing{
	{"Ostervane Compute", 180, "us-east us-west eu-west eu-north ap-east"},
	{"Quillmoor Cloud", -240, "us-east us-west eu-west"},
	{"Tarnhollow Systems", 90, "us-east eu-west eu-north ap-east"},
	{"Brindlemark", -410, "us-east us-west"},
	{"Sablefjord Data", -120, "eu-west eu-north"},
	{"Kestrelhume GPU", 360, "us-west ap-east"},
	{"Lanternreach", 520, "us-east us-west eu-west ap-east"},
	{"Vaskerud Compute", -350, "eu-north eu-west"},
	{"Moxley Tensor Works", 60, "us-east us-west eu-north"},
	{"Hanjiro Cloud", 240, "ap-east us-west"},
	{"Pellworth Systems", -180, "us-east eu-west"},
	{"Cobaltrun", -520, "us-west us-east"},
	{"Ardenquist", 410, "eu-west eu-north us-east"},
	{"Sevenbolt Racks", -660, "us-east us-west eu-west"},
	{"Fogwhistle Compute", 300, "us-east us-west eu-west eu-north ap-east"},
	{"Saltmere Compute", 0, "eu-west us-east"},
	{"Jokulvik Hosting", -740, "eu-north eu-west"},
	{"Pagodaline", 480, "ap-east us-west"},
	{"Emberwick AI", 640, "us-east us-west"},
	{"Graywattle", -90, "us-west ap-east"},
	{"Dovetail Flops", -300, "us-east eu-west eu-north"},
	{"Rookhaven Cloud", 150, "us-east us-west"},
	{"Zephyrgate Labs", 720, "eu-west ap-east"},
	{"Underhill Matrix", -450, "us-east eu-north"},
	{"Copperlarch", -210, "us-west us-east eu-north"},
	{"Wendelaar Compute", 330, "eu-west eu-north"},
	{"Halcyon Furrow", 860, "us-east eu-west"},
	{"Bitterroot Kernels", -820, "us-west us-east"},
	{"Selvarine", 120, "eu-west eu-north us-east"},
	{"Orchidpeak", 560, "ap-east us-west"},
	{"Stonecask Data", -580, "us-east us-west"},
	{"Fennimore Grid", -60, "us-east eu-west"},
	{"Lumenkraal", 270, "eu-west ap-east"},
	{"Northbarrow", -960, "eu-north us-east"},
	{"Tidewrack Systems", 440, "us-west ap-east"},
	{"Pinchbeck Nodes", -1100, "us-east us-west eu-west"},
	{"Argentvale", 1040, "eu-west us-east"},
	{"Sundermill", -390, "us-west us-east"},
	{"Quartzherd", 780, "ap-east eu-north"},
	{"Velmarrow Cloud", -150, "eu-north eu-west ap-east"},
}

// listingWeight is the share of trades of the provider of a rank: a Zipf curve whose head is cut, so that the largest
// has an eighth of the market and not a quarter.
func listingWeight(rank int) int64 { return 1_000_000 / int64(rank+3) }
