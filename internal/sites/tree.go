package sites

import (
	"math"

	"github.com/tidwall/rtree"
)

// earthKm is the mean radius of the Earth.
const earthKm = 6371.0088

// point is a position on the unit sphere. In space, positions have neither a date line nor poles, and a circle on the
// sphere is the part of the sphere inside a ball.
type point [3]float64

func newPoint(latitude, longitude float64) point {
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLng, cosLng := math.Sincos(longitude * math.Pi / 180)
	return point{cosLat * cosLng, cosLat * sinLng, sinLat}
}

// chord2 returns the squared straight distance between two positions: four times the haversine of their angle.
func (p *point) chord2(q *point) float64 {
	x, y, z := p[0]-q[0], p[1]-q[1], p[2]-q[2]
	return x*x + y*y + z*z
}

// kmOf converts a squared chord to a great-circle distance; chord2Of is its inverse, up to half the circumference.
func kmOf(chord2 float64) float64 { return 2 * earthKm * math.Asin(min(1, math.Sqrt(chord2)/2)) }

func chord2Of(km float64) float64 {
	half := math.Sin(km / (2 * earthKm))
	return 4 * half * half
}

// tree finds sites by position: an R-tree over longitude and latitude, and the points on the sphere.
type tree struct {
	boxes  rtree.RTreeG[int32]
	points []point
}

// metersOf is kmOf in meters, rounded half to even.
func metersOf(chord2 float64) int64 { return int64(math.RoundToEven(kmOf(chord2) * 1000)) }

// isPole reports whether a latitude is that of a pole.
func isPole(latitude float64) bool { return latitude == 90 || latitude == -90 }

// add adds the next site. The date line has two longitudes, and a pole has all; the tree uses one of them.
func (t *tree) add(latitude, longitude float64) {
	if longitude == 180 {
		longitude = -180
	}
	if isPole(latitude) {
		longitude = 0
	}
	at := [2]float64{longitude, latitude}
	t.boxes.Insert(at, at, int32(len(t.points)))
	t.points = append(t.points, newPoint(latitude, longitude))
}

// within calls f for every site inside a circle, with its squared chord to the center.
func (t *tree) within(c *Circle, f func(site int32, chord2 float64)) {
	longitude := c.Longitude
	if isPole(c.Latitude) {
		longitude = 0
	}
	center, most := newPoint(c.Latitude, longitude), chord2Of(c.RadiusKm)
	for _, box := range c.boxes() {
		southwest, northeast := [2]float64{box.West, box.South}, [2]float64{box.East, box.North}
		t.boxes.Search(southwest, northeast, func(_, _ [2]float64, site int32) bool {
			if d := t.points[site].chord2(&center); d <= most {
				f(site, d)
			}
			return true
		})
	}
}

// boxes returns the boxes that contain a circle: one, or two on both sides of the date line. They do not overlap.
func (c *Circle) boxes() []Box {
	const rounding = 1e-9 // degrees; the circle decides, so the boxes must not be too small
	angle := c.RadiusKm / earthKm
	reach := angle*180/math.Pi + rounding
	south, north := c.Latitude-reach, c.Latitude+reach
	if south <= -90 || north >= 90 { // the circle contains a pole, and so every longitude
		return []Box{{West: -180, South: south, East: 180, North: north}}
	}
	// The meridians that touch the circle do so nearer to the pole than its center is.
	width := math.Asin(math.Sin(angle)/math.Cos(c.Latitude*math.Pi/180))*180/math.Pi + rounding
	west, east := c.Longitude-width, c.Longitude+width
	switch {
	case west < -180:
		return []Box{{west + 360, south, 180, north}, {-180, south, east, north}}
	case east >= 180:
		return []Box{{west, south, 180, north}, {-180, south, east - 360, north}}
	}
	return []Box{{west, south, east, north}}
}
